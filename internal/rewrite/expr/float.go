package expr

import (
	"math/big"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
)

// PostgreSQL raises where a float overflows and where it underflows, so every float expression carries a quantum (see
// the package comment).

// roundFloat rounds to the nearest float of a type; ok is false beyond its range.
func roundFloat(r *big.Rat, oid uint32) (v *big.Rat, ok bool) {
	var f float64
	if oid == pgtype.Float4OID {
		f32, _ := r.Float32()
		f = float64(f32)
	} else {
		f, _ = r.Float64()
	}
	v = new(big.Rat)
	if v.SetFloat64(f) == nil {
		return nil, false
	}
	return v, true
}

// roundFloats rounds a finite interval's ends, which holds every rounded value since rounding is monotone.
func roundFloats(i bounds.Interval, oid uint32) (bounds.Interval, bool) {
	lo, ok1 := roundFloat(i.Lo, oid)
	hi, ok2 := roundFloat(i.Hi, oid)
	return bounds.New(lo, hi), ok1 && ok2
}

// floatQuantum gives a quantum for floats of size at least least (> 0), or zero: 2^-(n+mantissa bits).
func floatQuantum(least *big.Rat, oid uint32) int {
	n := 0
	if least.Cmp(bounds.One) < 0 {
		n = new(big.Int).Div(least.Denom(), least.Num()).BitLen()
	}
	if oid == pgtype.Float4OID {
		return n + 24
	}
	return n + 53
}

// leastQuantum gives the exponent of the least subnormal: beyond it, underflow could lose a value that is not 0.
func leastQuantum(oid uint32) int {
	if oid == pgtype.Float4OID {
		return 149
	}
	return 1074
}

// flushed gives a bound as it is read: 0 if it is tiny.
func flushed(r *big.Rat, oid uint32) *big.Rat {
	if new(big.Rat).Abs(r).Cmp(bounds.Pow2(-flushExponent(oid))) < 0 {
		return bounds.Zero
	}
	return r
}

// flushExponent: floats below 2^-n in size are read as zero. Four factors of 2^-(200+52) each stay above 2^-1022, and
// two of 2^-(40+23) above 2^-126: no product of columns underflows.
func flushExponent(oid uint32) int {
	if oid == pgtype.Float4OID {
		return 40
	}
	return 200
}
