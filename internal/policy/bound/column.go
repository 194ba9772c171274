package bound

import (
	"errors"
	"fmt"
	"math"
	"math/big"

	"github.com/jackc/pgx/v5/pgtype"
)

// Range holds a pair of bounds in the canonical units of a column's type, Lo ≤ Hi. Its numbers are never changed in
// place.
type Range struct{ Lo, Hi *big.Rat }

// elements are the types of which a range has its ends.
var elements = map[uint32]uint32{
	pgtype.Int4rangeOID: pgtype.Int4OID, pgtype.Int8rangeOID: pgtype.Int8OID, pgtype.NumrangeOID: pgtype.NumericOID,
	pgtype.DaterangeOID: pgtype.DateOID, pgtype.TsrangeOID: pgtype.TimestampOID,
	pgtype.TstzrangeOID: pgtype.TimestamptzOID,
}

// IsRange reports whether a type is one of ranges: its bounds are those of its ends, and nothing adds its values up.
func IsRange(oid uint32) bool { return elements[oid] != 0 }

// ForColumn reads a pair of bounds for a column of a type, which is no domain; for ranges those of their ends.
func ForColumn(oid uint32, lower, upper string) (Range, error) {
	if element := elements[oid]; element != 0 {
		oid = element
	}
	var ends [2]*big.Rat
	for i, text := range []string{lower, upper} {
		v, err := Parse(text)
		if err != nil {
			return Range{}, fmt.Errorf("%q %w", text, err)
		}
		if ends[i], err = v.in(oid); err != nil {
			return Range{}, fmt.Errorf("%s %w", v.Text, err)
		}
	}
	if ends[0].Cmp(ends[1]) > 0 {
		return Range{}, fmt.Errorf("lower %s is above upper %s", lower, upper)
	}
	return Range{ends[0], ends[1]}, nil
}

// ForSum reads the bounds of a sum over a column of a type: it may leave the type's own range.
func ForSum(oid uint32, lower, upper string) (Range, error) {
	switch oid {
	case pgtype.TimeOID, pgtype.IntervalOID:
		return ForColumn(pgtype.IntervalOID, lower, upper)
	}
	return ForColumn(pgtype.NumericOID, lower, upper)
}

// in returns the value in the canonical units of a type.
func (v Value) in(oid uint32) (*big.Rat, error) {
	switch oid {
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.Float4OID, pgtype.Float8OID, pgtype.NumericOID:
		if v.Kind != Number {
			return nil, v.mismatch("a number")
		}
		return v.At, v.inRange(oid)
	case pgtype.DateOID:
		if v.Kind != Date {
			return nil, v.mismatch("a date (2015-01-01)")
		}
		return new(big.Rat).Quo(v.At, rat(microsPerDay)), nil
	case pgtype.TimestampOID:
		if v.Kind != Date && v.Kind != Timestamp {
			return nil, v.mismatch("a date or a timestamp without a zone (2015-01-01 08:00:00)")
		}
	case pgtype.TimestamptzOID:
		if v.Kind != Date && v.Kind != Timestamp && v.Kind != TimestampTZ {
			return nil, v.mismatch("a date or a timestamp (2015-01-01 08:00:00+01)")
		}
	case pgtype.TimeOID:
		if v.Kind != Clock || v.At.Sign() < 0 || v.At.Cmp(rat(microsPerDay)) > 0 {
			return nil, v.mismatch("a time of day, 00:00 to 24:00")
		}
	case pgtype.IntervalOID:
		if v.Kind != Interval && v.Kind != Clock {
			return nil, v.mismatch("an interval (1 day, 90m)")
		}
	default:
		return nil,
			errors.New(
				"bounds nothing: only numbers, dates, timestamps, times, intervals and ranges have bounds, and this column's type is none of these")
	}
	return v.At, nil
}

func (v Value) mismatch(wanted string) error {
	return fmt.Errorf("is %s, but the column's type takes %s", v.Kind.Noun(), wanted)
}

// inRange refuses a number that no value of the type equals: a fraction or an excess for integers, and for floats what
// they have as infinity or zero alone.
func (v Value) inRange(oid uint32) error {
	switch oid {
	case pgtype.Float4OID:
		f, _ := v.At.Float32()
		return v.inFloat(float64(f))
	case pgtype.Float8OID:
		f, _ := v.At.Float64()
		return v.inFloat(f)
	case pgtype.NumericOID:
		return nil
	}
	bits := map[uint32]uint{pgtype.Int2OID: 15, pgtype.Int4OID: 31, pgtype.Int8OID: 63}[oid]
	limit := new(big.Int).Lsh(big.NewInt(1), bits)
	if !v.At.IsInt() {
		return errors.New("is no whole number, but the column's type is an integer")
	}
	if n := v.At.Num(); n.Cmp(limit) >= 0 || n.Cmp(new(big.Int).Neg(limit)) < 0 {
		return errors.New("is out of range for the column's type")
	}
	return nil
}

func (v Value) inFloat(f float64) error {
	if math.IsInf(f, 0) || f == 0 && v.At.Sign() != 0 {
		return errors.New("is out of range for the column's type")
	}
	return nil
}
