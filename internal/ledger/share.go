package ledger

import (
	"math"
	"strconv"
)

// Percent prints a share of a budget that is spent, to three significant digits: 2.06%.
func Percent(share float64) string {
	if v := 100 * share; v > 0 && !math.IsInf(v, 0) {
		return digits(v, 3, math.Round)
	}
	return strconv.FormatFloat(100*share, 'f', 0, 64) + "%"
}

// PercentLeft prints a share of a budget that is left, to two significant digits, and never more than there is: 83%.
func PercentLeft(share float64) string {
	const rounding = 1e-9 // 1 − .3 is 70%
	if v := 100 * share; v > 0 && v < 100 {
		return digits(v, 2, func(x float64) float64 { return math.Floor(x + rounding) })
	}
	return Percent(share)
}

// digits prints v > 0 to n significant digits, without an exponent and trailing zeros.
func digits(v float64, n int, whole func(float64) float64) string {
	decimals := n - 1 - int(math.Floor(math.Log10(v)))
	unit := math.Pow(10, float64(-decimals))
	text := strconv.FormatFloat(whole(v/unit)*unit, 'f', max(decimals, 0), 64)
	exact, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text + "%"
	}
	return strconv.FormatFloat(exact, 'f', -1, 64) + "%"
}
