package policy

import (
	"math/big"
	"time"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/policy/bound"
)

// needsRange says which answers a mechanism for fixed ranges does not give.
const needsRange = "needs a range that the policy fixes: averages, variances and regressions are refused, " +
	"and so are counts and sums of a table without max_rows"

// mechanism reads auto, or {noise, bounding, calibration}, each of which may be auto.
func (v value) mechanism(method Method) (c mechanism.Choice, ok bool) {
	if !v.given() {
		return c, false
	}
	if !v.isMapping() {
		s, isText := v.text()
		switch {
		case !isText:
			return c, false
		case s != "auto":
			v.fail("%s is neither auto nor a mapping such as {noise: laplace, bounding: fold}", quoted(s))
			return c, false
		}
		return c, true
	}
	before := len(v.w.problems)
	o := v.object("noise", "bounding", "calibration")
	c.Noise = mechanism.Noise(o.get("noise").orAuto(string(mechanism.Laplace), string(mechanism.Gaussian), string(mechanism.Staircase)))
	c.Bounding = mechanism.Bounding(o.get("bounding").orAuto(string(mechanism.Truncate), string(mechanism.Fold),
		string(mechanism.Denoise), string(mechanism.Clamp), string(mechanism.Cells)))
	c.Calibration = mechanism.Calibration(o.get("calibration").orAuto(string(mechanism.Tight), string(mechanism.Paper)))
	if len(v.w.problems) > before {
		return c, false
	}
	if c.Noise == mechanism.Gaussian && method == Pure && c.Bounding != "" && c.Bounding != mechanism.Truncate {
		o.get("bounding").fail("gaussian noise satisfies pure ε-DP when it is truncated to the range, not with %s", c.Bounding)
	}
	if c.Bounding == mechanism.Cells && c.Noise == mechanism.Gaussian {
		o.get("noise").fail("cells are released with staircase or laplace noise, not with %s", string(c.Noise))
	}
	if c.Noise == mechanism.Staircase && (c.Bounding == mechanism.Truncate || c.Calibration == mechanism.Paper) {
		o.get("noise").fail("staircase noise is bounded afterwards: use clamp, fold, denoise or cells, and the calibration tight")
	}
	switch {
	case c.Noise == mechanism.Gaussian && method == Pure:
		o.get("noise").note("gaussian noise under method: pure %s", needsRange)
	case c.Bounding == mechanism.Denoise, c.Bounding == mechanism.Cells:
		o.get("bounding").note("%s %s", string(c.Bounding), needsRange)
	}
	if c.Calibration == mechanism.Paper && c.Bounding != "" && c.Bounding != mechanism.Truncate {
		o.get("calibration").fail("the papers calibrate truncate; %s has the calibration tight", c.Bounding)
	}
	return c, len(v.w.problems) == before
}

// orAuto reads one of words; auto and an absent key are the empty string.
func (v value) orAuto(words ...string) string {
	s, ok := v.oneOf(append(words, "auto")...)
	if !ok || s == "auto" {
		return ""
	}
	return s
}

// gridLiteral adds a grid's exact value: a number, or microseconds.
type gridLiteral struct {
	Grid
	at *big.Rat
}

// grid reads a step: a number, or an interval for times.
func (v value) grid() (*gridLiteral, bool) {
	if !v.given() {
		return nil, false
	}
	l, ok := v.bound()
	if !ok {
		return nil, false
	}
	if l.At.Sign() <= 0 {
		v.fail("must be above 0, not %s", l.Text)
		return nil, false
	}
	switch l.Kind {
	case bound.Number:
		return &gridLiteral{Grid{Number: l.Text}, l.At}, true
	case bound.Interval, bound.Clock:
		d, fits := wholeDuration(l.At)
		if !fits {
			v.fail("%s is longer than a century", l.Text)
			return nil, false
		}
		return &gridLiteral{Grid{Duration: d}, l.At}, true
	}
	v.fail("must be a number or an interval, not %s", l.Kind.Noun())
	return nil, false
}

// fits reports whether a grid can be the step of a column whose bounds are of that kind. Dates may bound a column of
// timestamps, which has a finer grid than days; a column of dates takes whole days of it.
func (g *gridLiteral) fits(kind bound.Kind) bool {
	if g.Number != "" {
		return kind == bound.Number
	}
	return kind != bound.Number
}

// wholeDuration converts a number of microseconds to a time.Duration; ok is false beyond a century.
func wholeDuration(micros *big.Rat) (time.Duration, bool) {
	if micros.Cmp(new(big.Rat).SetInt64(maxDuration.Microseconds())) > 0 {
		return 0, false
	}
	return time.Duration(micros.Num().Int64()) * time.Microsecond, true
}
