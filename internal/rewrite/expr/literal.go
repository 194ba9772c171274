package expr

import (
	"errors"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
)

// constant holds a literal, a NULL or a parameter's value, validated against its type.
type constant struct {
	// canonical: equal values of a type have equal text, which PostgreSQL reads as the value under any setting; nil: NULL
	text   *string
	bounds bounds.Interval // a point, or open for NaN, ±infinity and types without order
	scale  int             // numeric: digits after the point
	span   *span           // interval: its fields
	items  []*Expr         // array: its elements, none of them an array
}

// span holds the fields of an interval.
type span struct {
	months int64
	days   int64
	micros *big.Rat
}

var (
	intForm     = regexp.MustCompile(`^[+-]?[0-9]{1,25}$`)
	numericForm = regexp.MustCompile(`^[+-]?([0-9]{1,1000}(\.[0-9]{0,1000})?|\.[0-9]{1,1000})([eE][+-]?[0-9]{1,3})?$`)
	uuidForm    = regexp.MustCompile(`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`)

	errForm = errors.New("not in a form that is read here")
)

// readLiteral validates text as a value of a built-in type or, with labels, of an enum. What it accepts, PostgreSQL
// accepts and reads as the same value.
func readLiteral(oid uint32, labels []string, text string) (*constant, error) {
	c := &constant{text: &text}
	if labels != nil {
		if !slices.Contains(labels, text) {
			return nil, errForm
		}
		return c, nil
	}
	if pgresolve.IsString(oid) {
		return c, nil
	}
	trimmed := strings.Trim(text, " \t\n\r\f\v")
	c.text = &trimmed
	switch {
	case pgresolve.IsInt(oid):
		return c, c.readInt(oid, trimmed)
	case oid == pgtype.NumericOID || pgresolve.IsFloat(oid):
		return c, c.readNumber(oid, trimmed)
	case oid == pgtype.BoolOID:
		return c, c.readBool(trimmed)
	case oid == pgtype.UUIDOID:
		if !uuidForm.MatchString(trimmed) {
			return nil, errForm
		}
		c.spell(strings.ToLower(trimmed))
		return c, nil
	case pgresolve.IsTime(oid):
		return c, c.readTime(oid, trimmed)
	case isRange(oid):
		return c, c.readRange(oid, trimmed)
	}
	return nil, errForm
}

func (c *constant) point(r *big.Rat) { c.bounds = bounds.Point(r) }

func (c *constant) spell(text string) { c.text = &text }

func (c *constant) readInt(oid uint32, s string) error {
	if !intForm.MatchString(s) {
		return errForm
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok || !intRange(oid).Contains(r) {
		return errForm
	}
	c.point(r)
	c.spell(r.Num().String())
	return nil
}

func (c *constant) readNumber(oid uint32, s string) error {
	switch lower := strings.ToLower(s); lower {
	case "nan":
		c.spell("NaN")
		return nil
	case "infinity", "-infinity", "inf", "-inf":
		c.spell(strings.TrimSuffix(lower, "inity") + "inity")
		return nil
	}
	if !numericForm.MatchString(s) {
		return errForm
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return errForm
	}
	if oid == pgtype.NumericOID {
		c.point(r)
		c.scale = literalScale(s)
		c.spell(r.FloatString(c.scale))
		return nil
	}
	size := 64
	if oid == pgtype.Float4OID {
		size = 32
	}
	f, err := strconv.ParseFloat(s, size)
	if err != nil || f == 0 && r.Sign() != 0 {
		return errForm
	}
	c.point(new(big.Rat).SetFloat64(f))
	c.spell(strconv.FormatFloat(f, 'g', -1, size))
	return nil
}

// literalScale gives the dscale of numeric_in: the digits after the point, less the exponent.
func literalScale(s string) int {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(s), "e")
	_, digits, _ := strings.Cut(mantissa, ".")
	n, _ := strconv.Atoi(exponent)
	return max(0, len(digits)-n)
}

// readBool follows parse_bool_with_len: any unambiguous prefix.
func (c *constant) readBool(s string) error {
	lower := strings.ToLower(s)
	switch {
	case lower == "":
		return errForm
	case strings.HasPrefix("true", lower), strings.HasPrefix("yes", lower), lower == "on", lower == "1":
		c.spell("true")
	case strings.HasPrefix("false", lower), strings.HasPrefix("no", lower), lower == "of", lower == "off", lower == "0":
		c.spell("false")
	default:
		return errForm
	}
	return nil
}
