// Package bounds computes with exact numbers and with the intervals in which values lie.
//
// Every operation on intervals is sound: whatever the operands hold, the result holds what the same operation makes of
// it. A nil end says that no bound is known.
package bounds

import "math/big"

// Interval is a closed interval of exact rationals in canonical units. A nil end is open. Ends are never changed in
// place.
type Interval struct{ Lo, Hi *big.Rat }

// New makes an interval of its ends; nil leaves one open.
func New(lo, hi *big.Rat) Interval { return Interval{lo, hi} }

// Between makes an interval of two integers.
func Between(lo, hi int64) Interval {
	return Interval{new(big.Rat).SetInt64(lo), new(big.Rat).SetInt64(hi)}
}

// Point is the interval of one value.
func Point(v *big.Rat) Interval { return Interval{v, v} }

// Finite reports whether both ends are known.
func (i Interval) Finite() bool { return i.Lo != nil && i.Hi != nil }

// Open reports whether neither end is known.
func (i Interval) Open() bool { return i.Lo == nil && i.Hi == nil }

// Empty reports whether no value lies in it.
func (i Interval) Empty() bool { return i.Finite() && i.Lo.Cmp(i.Hi) > 0 }

// Contains reports whether v may lie in it.
func (i Interval) Contains(v *big.Rat) bool {
	return (i.Lo == nil || i.Lo.Cmp(v) <= 0) && (i.Hi == nil || i.Hi.Cmp(v) >= 0)
}

// Within reports whether every value of i lies in o.
func (i Interval) Within(o Interval) bool {
	return (o.Lo == nil || i.Lo != nil && i.Lo.Cmp(o.Lo) >= 0) && (o.Hi == nil || i.Hi != nil && i.Hi.Cmp(o.Hi) <= 0)
}

// Intersect returns what lies in both.
func (i Interval) Intersect(o Interval) Interval {
	if i.Lo == nil || o.Lo != nil && o.Lo.Cmp(i.Lo) > 0 {
		i.Lo = o.Lo
	}
	if i.Hi == nil || o.Hi != nil && o.Hi.Cmp(i.Hi) < 0 {
		i.Hi = o.Hi
	}
	return i
}

// Hull returns the least interval that holds both.
func (i Interval) Hull(o Interval) Interval {
	out := Interval{}
	if i.Lo != nil && o.Lo != nil {
		out.Lo = Min(i.Lo, o.Lo)
	}
	if i.Hi != nil && o.Hi != nil {
		out.Hi = Max(i.Hi, o.Hi)
	}
	return out
}

// Neg is −i.
func (i Interval) Neg() Interval {
	out := Interval{}
	if i.Hi != nil {
		out.Lo = new(big.Rat).Neg(i.Hi)
	}
	if i.Lo != nil {
		out.Hi = new(big.Rat).Neg(i.Lo)
	}
	return out
}

// Add is i + o.
func (i Interval) Add(o Interval) Interval {
	out := Interval{}
	if i.Lo != nil && o.Lo != nil {
		out.Lo = new(big.Rat).Add(i.Lo, o.Lo)
	}
	if i.Hi != nil && o.Hi != nil {
		out.Hi = new(big.Rat).Add(i.Hi, o.Hi)
	}
	return out
}

// Sub is i − o.
func (i Interval) Sub(o Interval) Interval { return i.Add(o.Neg()) }

// Mul is i × o; open unless both are finite.
func (i Interval) Mul(o Interval) Interval {
	if !i.Finite() || !o.Finite() {
		return Interval{}
	}
	return HullOf(product(i.Lo, o.Lo), product(i.Lo, o.Hi), product(i.Hi, o.Lo), product(i.Hi, o.Hi))
}

// Quo is i / o where 0 does not lie in o; open otherwise.
func (i Interval) Quo(o Interval) Interval {
	if !i.Finite() || !o.Finite() || o.Contains(Zero) {
		return Interval{}
	}
	return i.Mul(Interval{new(big.Rat).Inv(o.Hi), new(big.Rat).Inv(o.Lo)})
}

// QuoApart divides by o without 0 and without anything nearer to 0 than least.
func (i Interval) QuoApart(o Interval, least *big.Rat) Interval {
	if !o.Contains(Zero) {
		return i.Quo(o)
	}
	if !o.Finite() {
		return Interval{}
	}
	var parts []Interval
	if o.Lo.Sign() < 0 {
		parts = append(parts, i.Quo(Interval{o.Lo, Max(negative(least), o.Lo)}))
	}
	if o.Hi.Sign() > 0 {
		parts = append(parts, i.Quo(Interval{Min(least, o.Hi), o.Hi}))
	}
	if len(parts) == 0 {
		return Interval{}
	}
	out := parts[0]
	for _, p := range parts[1:] {
		out = out.Hull(p)
	}
	return out
}

// Abs is |i|.
func (i Interval) Abs() Interval {
	if i.Lo != nil && i.Lo.Sign() >= 0 {
		return i
	}
	if i.Hi != nil && i.Hi.Sign() <= 0 {
		return i.Neg()
	}
	out := Interval{Lo: Zero}
	if i.Finite() {
		out.Hi = Max(new(big.Rat).Neg(i.Lo), i.Hi)
	}
	return out
}

// Scale is i × f for f > 0.
func (i Interval) Scale(f *big.Rat) Interval {
	return i.Map(func(r *big.Rat) *big.Rat { return product(r, f) })
}

// Map applies a non-decreasing function to the known ends.
func (i Interval) Map(f func(*big.Rat) *big.Rat) Interval {
	out := Interval{}
	if i.Lo != nil {
		out.Lo = f(i.Lo)
	}
	if i.Hi != nil {
		out.Hi = f(i.Hi)
	}
	return out
}

// Widen moves both ends outwards by d ≥ 0.
func (i Interval) Widen(d *big.Rat) Interval {
	return i.Add(Interval{new(big.Rat).Neg(d), d})
}

// WidenRelative moves both ends of a finite interval outwards by a share of their size.
func (i Interval) WidenRelative(share *big.Rat) Interval {
	by := func(end *big.Rat) *big.Rat { return product(new(big.Rat).Abs(end), share) }
	return Interval{new(big.Rat).Sub(i.Lo, by(i.Lo)), new(big.Rat).Add(i.Hi, by(i.Hi))}
}

// Trunc rounds both ends towards zero.
func (i Interval) Trunc() Interval {
	return i.Map(func(r *big.Rat) *big.Rat {
		if r.Sign() < 0 {
			return Ceil(r)
		}
		return Floor(r)
	})
}

// Short rounds both ends outwards to 60 digits after the point, so that long chains of operations stay cheap.
func (i Interval) Short() Interval { return Interval{Outward(i.Lo, false), Outward(i.Hi, true)} }

// Fill takes open ends from another interval.
func (i Interval) Fill(with Interval) Interval {
	if i.Lo == nil {
		i.Lo = with.Lo
	}
	if i.Hi == nil {
		i.Hi = with.Hi
	}
	return i
}

// OpenLike opens the ends that are open in another interval.
func (i Interval) OpenLike(o Interval) Interval {
	if o.Lo == nil {
		i.Lo = nil
	}
	if o.Hi == nil {
		i.Hi = nil
	}
	return i
}

// Width is Hi − Lo of a finite interval.
func (i Interval) Width() *big.Rat { return new(big.Rat).Sub(i.Hi, i.Lo) }

// String prints the interval for messages and plans.
func (i Interval) String() string {
	end := func(r *big.Rat) string {
		if r == nil {
			return "∞"
		}
		return Decimal(r)
	}
	return "[" + end(i.Lo) + ", " + end(i.Hi) + "]"
}

// HullOf returns the least interval that holds all of the values.
func HullOf(first *big.Rat, rest ...*big.Rat) Interval {
	out := Point(first)
	for _, r := range rest {
		out = Interval{Min(out.Lo, r), Max(out.Hi, r)}
	}
	return out
}
