package policy

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/dpproxy/dpproxy/internal/policy/bound"
)

// text reads a string; ok is false when it is absent (no problem) or not a string (a problem).
func (v value) text() (s string, ok bool) {
	if !v.given() {
		return "", false
	}
	if v.null() || v.node.Kind != yaml.ScalarNode {
		v.fail("must be a text, not %s", v.kind())
		return "", false
	}
	if !utf8.ValidString(v.node.Value) || strings.ContainsRune(v.node.Value, 0) {
		v.fail("must be UTF-8 without NUL")
		return "", false
	}
	return v.node.Value, true
}

// oneOf reads one of several words.
func (v value) oneOf(words ...string) (string, bool) {
	s, ok := v.text()
	if !ok {
		return "", false
	}
	for _, w := range words {
		if s == w {
			return s, true
		}
	}
	if near := nearest(s, words); near != "" {
		v.fail("%s is not one of %s; did you mean %q?", quoted(s), list(words), near)
	} else {
		v.fail("%s is not one of %s", quoted(s), list(words))
	}
	return "", false
}

// isBoolean says that the value is written as true or false are.
func (v value) isBoolean() bool {
	return v.node != nil && v.node.Kind == yaml.ScalarNode && v.node.ShortTag() == "!!bool"
}

// boolean reads true or false.
func (v value) boolean() (b, ok bool) {
	if !v.given() {
		return false, false
	}
	if v.isBoolean() {
		switch strings.ToLower(v.node.Value) {
		case "true":
			return true, true
		case "false":
			return false, true
		}
	}
	v.fail("must be true or false, not %s", v.kind())
	return false, false
}

// number reads a decimal number as text. NaN, infinities, octal, hexadecimal and quoted numbers are problems: what
// YAML's readers make of them differs, and a budget must not depend on that.
func (v value) number() (string, bool) {
	if !v.given() {
		return "", false
	}
	if v.node.Kind != yaml.ScalarNode || v.node.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 || !bound.IsNumber(v.node.Value) {
		v.fail("must be a decimal number, not %s", v.kind())
		return "", false
	}
	return v.node.Value, true
}

// float reads a finite number.
func (v value) float() (float64, bool) {
	s, ok := v.number()
	if !ok {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(f, 0) {
		v.fail("%s is out of range", s)
		return 0, false
	}
	return f, true
}

// positive reads a finite number above 0.
func (v value) positive() (float64, bool) {
	f, ok := v.float()
	if ok && !(f > 0) {
		v.fail("must be above 0, not %s", v.node.Value)
		return 0, false
	}
	return f, ok
}

// integer reads a whole number within [lo, hi].
func (v value) integer(lo, hi int64) (int64, bool) {
	s, ok := v.number()
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		v.fail("must be a whole number, not %s", s)
		return 0, false
	}
	if n < lo || n > hi {
		v.fail("must be between %d and %d, not %d", lo, hi, n)
		return 0, false
	}
	return n, true
}

// maxDuration is the longest duration: a century.
const maxDuration = 36525 * 24 * time.Hour

var (
	durationPart = regexp.MustCompile(`^(\d{1,12}(?:\.\d{1,9})?)(ms|d|h|m|s)`)
	durationUnit = map[string]time.Duration{
		"d": 24 * time.Hour, "h": time.Hour, "m": time.Minute, "s": time.Second, "ms": time.Millisecond,
	}
)

// duration reads 30d, 1h30m, 50ms or 0, at least lo and at most hi.
func (v value) duration(lo, hi time.Duration) (time.Duration, bool) {
	if !v.given() {
		return 0, false
	}
	d, ok := time.Duration(0), false
	if v.node.Kind == yaml.ScalarNode && !v.null() {
		d, ok = parseDuration(v.node.Value)
	}
	switch {
	case !ok:
		v.fail("must be a duration such as 30d, 12h, 5m, 10s or 50ms, not %s", v.kind())
	case d < lo:
		v.fail("must be at least %s, not %s", shortDuration(lo), v.node.Value)
	case d > hi:
		v.fail("must be at most %s, not %s", shortDuration(hi), v.node.Value)
	default:
		return d, true
	}
	return 0, false
}

// sizePart is a number of bytes, with PostgreSQL's units, of which each is 1024 of the one before.
var (
	sizePart = regexp.MustCompile(`^([0-9]{1,15}) ?(?i:(k|m|g|t)?i?b)?$`)
	sizeUnit = map[string]int64{"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
)

// bytes reads an amount of memory.
func (v value) bytes(lo, hi int64) (int64, bool) {
	if !v.given() {
		return 0, false
	}
	var m []string
	if v.node.Kind == yaml.ScalarNode && !v.null() {
		m = sizePart.FindStringSubmatch(v.node.Value)
	}
	if m == nil {
		v.fail("must be an amount of memory such as 256MB or 2GB, not %s", v.kind())
		return 0, false
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	unit := sizeUnit[strings.ToLower(m[2])]
	if err != nil || n < (lo+unit-1)/unit || n > hi/unit {
		v.fail("must be between %dMB and %dGB, not %s", lo>>20, hi>>30, v.node.Value)
		return 0, false
	}
	return n * unit, true
}

func parseDuration(s string) (time.Duration, bool) {
	if s == "0" {
		return 0, true
	}
	total := 0.0
	for rest := s; rest != ""; {
		m := durationPart.FindStringSubmatch(rest)
		if m == nil {
			return 0, false
		}
		f, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			return 0, false
		}
		total += f * float64(durationUnit[m[2]])
		rest = rest[len(m[0]):]
	}
	if s == "" || total > float64(2*maxDuration) {
		return 0, false
	}
	return time.Duration(math.Round(total)), true
}

func shortDuration(d time.Duration) string {
	switch {
	case d >= 24*time.Hour && d%(24*time.Hour) == 0:
		return strconv.FormatInt(int64(d/(24*time.Hour)), 10) + "d"
	default:
		return d.String()
	}
}
