package bound

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

var numberForm = regexp.MustCompile(`^[-+]?(?:(0|[1-9]\d*)(?:\.(\d*))?|\.(\d+))(?:[eE]([-+]?\d{1,4}))?$`)

// IsNumber accepts decimal numbers of at most 400 characters and exponents within ±400, which any float8 needs less
// than, and what these are written out.
func IsNumber(s string) bool {
	m := numberForm.FindStringSubmatch(s)
	if m == nil || m[4] == "" {
		return m != nil && len(s) <= 1000
	}
	e, err := strconv.Atoi(m[4])
	return len(s) <= 400 && err == nil && e >= -400 && e <= 400
}

// parseNumber writes exponents out: the text is shown beside columns of integers.
func parseNumber(s string) (Value, error) {
	at, ok := new(big.Rat).SetString(s)
	if !ok {
		return Value{}, errForm
	}
	text := strings.TrimPrefix(s, "+")
	if strings.ContainsAny(text, "eE") {
		if at.IsInt() {
			text = at.Num().String()
		} else {
			text = strings.TrimRight(at.FloatString(900), "0")
		}
	}
	if at.Sign() == 0 {
		text = strings.TrimPrefix(text, "-")
	}
	return Value{Number, text, at}, nil
}
