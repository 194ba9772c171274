package console

import (
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dpproxy/dpproxy/internal/ledger"
)

// functions are what templates may call. None makes HTML.
var functions = template.FuncMap{
	"asset": assetAddress, "number": number, "moment": moment, "coordinate": coordinate,
	"percent": ledger.Percent, "left": ledger.PercentLeft, "hundredths": func(share float64) float64 {
		return 100 * share
	},
	"last": func(list []float64) int { return len(list) - 1 },
	"list": func(values ...any) []any { return values },
}

// number prints a figure for people: four significant digits, thousands apart.
func number(v float64) string {
	switch a := math.Abs(v); {
	case math.IsInf(v, 1):
		return "∞"
	case math.IsInf(v, -1):
		return "−∞"
	case a >= 1e15 || a != 0 && a < 1e-4:
		return strings.NewReplacer("e-0", "e−", "e+0", "e", "e+", "e", "-", "−").Replace(strconv.FormatFloat(v, 'g', 3, 64))
	case a >= 1000:
		return amount(strconv.FormatFloat(v, 'f', 0, 64))
	}
	return amount(strconv.FormatFloat(v, 'g', 4, 64))
}

// amount sets the thousands of a plain number apart, by a narrow space that does not break. Another text stays as it
// is.
func amount(s string) string {
	sign, digits := "", s
	if rest, ok := strings.CutPrefix(s, "-"); ok {
		sign, digits = "−", rest
	}
	whole, fraction, _ := strings.Cut(digits, ".")
	if whole == "" || strings.Trim(whole, "0123456789") != "" || strings.Trim(fraction, "0123456789") != "" {
		return s
	}
	var groups []string
	for len(whole) > 3 {
		groups = append([]string{whole[len(whole)-3:]}, groups...)
		whole = whole[:len(whole)-3]
	}
	text := sign + strings.Join(append([]string{whole}, groups...), "\u202f")
	if fraction != "" {
		text += "." + fraction
	}
	return text
}

// figure is a released number as a page shows it: to the digits that mean something. The download has them all.
func figure(s string) string {
	_, fraction, _ := strings.Cut(s, ".")
	if v, err := strconv.ParseFloat(s, 64); err == nil && len(fraction) > 4 && !math.IsNaN(v) && !math.IsInf(v, 0) {
		return number(v)
	}
	return amount(s)
}

// duration prints seconds in the unit that they are of the size of.
func duration(seconds float64) string {
	for _, unit := range []struct {
		name    string
		seconds float64
	}{{"days", 86400}, {"h", 3600}, {"min", 60}} {
		if seconds >= 2*unit.seconds {
			return number(seconds/unit.seconds) + " " + unit.name
		}
	}
	return number(seconds) + " s"
}

// moment prints a time in UTC, as sessions of the console do.
func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") }
