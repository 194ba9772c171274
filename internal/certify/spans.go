package certify

import (
	"math/big"
	"regexp"
)

// lengths is of a text of no more than n characters, which fits what PostgreSQL may allocate.
func lengths(n *big.Rat) (span, bool) {
	return span{lo: zero, hi: n}, n != nil && n.Cmp(power(2, 24)) <= 0
}

// searchable: of collations that are not the default, only one, and a deterministic one.
func searchable(a []value) (span, bool) {
	return between(zero, power(2, 30)), a[0].plain() && a[1].plain() && merge(a[0].collation, a[1].collation) != conflict
}

// plain reports whether a text's collation is deterministic.
func (v value) plain() bool { return v.exact || v.collation == "" }

// cased: a character becomes at most three (SpecialCasing.txt of Unicode).
func cased(a []value) (span, bool) { return between(zero, times(a[0].hi, big.NewRat(3, 1))), true }

// timePicture is what DCH_to_char prints of a time without TM, so in English, and TH, which is of numbers.
var timePicture = regexp.MustCompile(
	`^(?:FM|I?Y{2,4}|Q|MM|Month|MONTH|month|Mon|MON|mon|I?DDD|DD|I?D|Day|DAY|day|Dy|DY|dy|I?WW?|HH24|HH12|HH|MI|SS|MS|` +
		`AM|PM|am|pm|"[A-Za-z0-9 ]{1,10}"|[-/:., ]){1,20}$`)

// pictured is to_char of a time: timestamp_to_char raises an error out of range alone, and makes NULL of infinities.
func pictured(a []value) (span, bool) {
	return between(zero, big.NewRat(400, 1)), near(a[0]) && timePicture.MatchString(word(a[1]))
}

// word is a text constant, or "".
func word(v value) string {
	if !v.array && len(v.elements) == 1 && v.elements[0] != nil {
		return *v.elements[0]
	}
	return ""
}

func absolute(a []value) (span, bool) {
	r := span{lo: zero, hi: a[0].largest(), nan: a[0].nan, tiny: a[0].tiny, nonzero: a[0].nonzero}
	return r, !isInteger(a[0].typ) || a[0].negate().inside(a[0].typ)
}

// quotients is div of a finite number by one that is not zero. Proof: numeric_div_trunc raises an error by zero, and
// where the result has more than 131072 digits: the least numeric has 16383 behind the point.
func quotients(a []value) (span, bool) {
	m, t := a[0].largest(), a[1].tiny
	if m == nil || m.Cmp(bigNumber) > 0 || a[1].nan || a[1].hasZero() {
		return span{}, false
	}
	if a[1].lo != nil && a[1].lo.Cmp(one) >= 0 {
		t = one
	}
	r := span{}
	if t != nil {
		r.hi = new(big.Rat).Quo(m, t)
		r.lo = new(big.Rat).Neg(r.hi)
	}
	if a[0].lo.Sign() >= 0 && a[1].lo != nil && a[1].lo.Sign() >= 0 {
		r.lo = zero
	}
	return r, true
}

// remainder is mod, or %: it has the sign of the dividend, is no larger, and smaller than the divisor, which is not
// zero.
func remainder(a []value) (span, bool) {
	if !a[0].finite() || a[1].nan || a[1].hasZero() {
		return span{}, false
	}
	m := between(a[1].lo, a[1].hi).largest()
	r := between(zero, zero)
	if a[0].hi.Sign() > 0 {
		r.hi = least(a[0].hi, m)
	}
	if a[0].lo.Sign() < 0 {
		r.lo = a[0].lo
		if m != nil && new(big.Rat).Neg(m).Cmp(r.lo) > 0 {
			r.lo = new(big.Rat).Neg(m)
		}
	}
	return r, true
}

// rounding: to whole numbers, to tens, hundreds …, or to digits behind the point. Rounding is monotone and leaves the
// multiples of its step alone, which are the larger step's too; NaN and infinities stay. One more than 131072 nines of
// a numeric is an error.
func rounding(a []value) (span, bool) {
	step, least := one, one
	if len(a) == 2 {
		step, least = tenth(a[1].lo), tenth(a[1].hi)
	}
	r := span{nan: a[0].nan, tiny: least}
	if a[0].lo != nil {
		r.lo = times(step, new(big.Rat).SetInt(floor(new(big.Rat).Quo(a[0].lo, step))))
	}
	if a[0].hi != nil {
		r.hi = times(step, new(big.Rat).Neg(new(big.Rat).SetInt(floor(new(big.Rat).Neg(new(big.Rat).Quo(a[0].hi, step))))))
	}
	return r, a[0].typ == "float8" || a[0].lo != nil && a[0].hi != nil
}

// tenth is 10^-n of a whole n.
func tenth(n *big.Rat) *big.Rat {
	switch {
	case n == nil: // of NULL
		return one
	case n.Sign() < 0:
		return power(10, -n.Num().Int64())
	}
	return new(big.Rat).Inv(power(10, n.Num().Int64()))
}

// truncating is rounding towards zero, of any numeric: numeric_trunc leaves digits away.
func truncating(a []value) (span, bool) {
	r, _ := rounding(a)
	return r, true
}

// logarithm makes the rule of a logarithm of bounded numbers above zero. Proof: dlog1, dlog10, numeric_ln and
// numeric_log raise errors at zero and below alone. They rise, and are off by less than a part of 10^14, as Go's are,
// whose arguments are rounded to floats; of a float8 that is not 1 they are above 2^-56.
func logarithm(of func(float64) float64) func(a []value) (span, bool) {
	return func(a []value) (span, bool) {
		x := a[0]
		if !x.finite() || x.lo.Cmp(smallest) < 0 || x.hi.Cmp(largest) > 0 {
			return span{}, false
		}
		at := func(r *big.Rat, side int64) *big.Rat {
			f, _ := r.Float64()
			v := new(big.Rat).SetFloat64(of(f))
			return plus(v, times(plus(new(big.Rat).Abs(v), big.NewRat(1, 20)),
				new(big.Rat).Mul(big.NewRat(side, 1), tenth(big.NewRat(13, 1)))))
		}
		r := between(at(x.lo, -1), at(x.hi, 1))
		if x.typ == "float8" {
			r.tiny = new(big.Rat).Inv(power(2, 56))
		}
		return r, true
	}
}

// buckets is width_bucket(x, a, b, n) of bounded numbers, and of constants a, b that differ and n > 0: between 0 and n
// + 1.
func buckets(a []value) (span, bool) {
	ok := a[3].within(one, power(2, 30)) && a[0].finite()
	for _, v := range a[1:3] {
		ok = ok && v.finite() && v.lo.Cmp(v.hi) == 0
	}
	return between(zero, plus(a[3].hi, one)), ok && a[1].lo.Cmp(a[2].lo) != 0
}

// exponential bounds e^x: 2 < e < 3, and of x < 0 it is between 3^x and 1.
func exponential(lo, hi *big.Rat) span {
	up, down := big.NewRat(2, 1), one
	if hi.Sign() > 0 {
		up = new(big.Rat).Mul(up, power(3, floor(hi).Int64()+1))
	}
	if lo.Sign() < 0 {
		down = new(big.Rat).Inv(power(3, 1-floor(lo).Int64()))
	}
	return span{lo: zero, hi: up, tiny: new(big.Rat).Quo(down, big.NewRat(2, 1)), nonzero: true}
}

// powers is power(x, k) of a whole k.
//
// Rule: it is within ± the power of the largest, and no less than that of the least magnitude but zero, so it neither
// overflows nor underflows if these do not. Proof: dpow of float.c checks the result of pow alone, for whole k; pow is
// off by less than two ulps. numeric_power, of whole k >= 0, fails where that overflows alone; it has 16 digits that
// count, or rounds to zero (power_var_int).
func powers(a []value) (span, bool) {
	x, k := a[0], a[1]
	if x.tiny = tinyOf(x); x.typ == "numeric" {
		x.tiny = one
	}
	if !x.finite() || x.vague || x.tiny == nil || !k.finite() || k.lo.Cmp(k.hi) != 0 || !k.lo.IsInt() {
		return span{}, false
	}
	most, least := one, one
	for range k.lo.Num().Int64() {
		most, least = new(big.Rat).Mul(most, x.largest()), new(big.Rat).Mul(least, x.tiny)
	}
	if most.Cmp(largest) > 0 || least.Cmp(smallest) < 0 {
		return span{}, false
	}
	if x.typ == "numeric" {
		most, least = plus(smallest, times(most, plus(one, new(big.Rat).Inv(power(10, 14))))), nil
	}
	r := span{lo: new(big.Rat).Neg(most), hi: most, tiny: least}
	if x.lo.Sign() >= 0 {
		r.lo = zero
	}
	return r.rounded().rounded(), true
}
