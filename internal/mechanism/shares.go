package mechanism

import (
	"math/big"
	"math/bits"
)

// shares are weights that add up to more than 0. One of them is drawn with a probability that is exactly its share of
// all.
type shares interface {
	count() int
	// short is a weight in 128 bits, in which all of them add up. A sum of the first ones and the place of a word among
	// them are together off by shortSlack at most.
	short(i int) (hi, lo uint64)
	shortSlack() (hi, lo uint64)
	// long is the same with so many digits behind the point of the largest, or more.
	long(i int, digits uint) *big.Int
	longSlack() *big.Int
}

// chooseShare draws by two words, and by more where these do not decide: once in 2^50 draws or more.
func chooseShare(src *Source, s shares, u1, u0 uint64) int {
	if i, ok := shareAt(s, u1, u0); ok {
		return i
	}
	return shareAtLong(src, s, u1, u0)
}

// shareAt is the weight in which u/2^128 of all lies; false where errors leave more than one possible.
func shareAt(s shares, u1, u0 uint64) (int, bool) {
	var hi, lo uint64
	for i := range s.count() {
		h, l := s.short(i)
		var c uint64
		lo, c = bits.Add64(lo, l, 0)
		hi += h + c
	}
	at1, at0, _, _ := product128(u1, u0, hi, lo)
	e1, e0 := s.shortSlack()
	for i := range s.count() {
		h, l := s.short(i)
		if at1 < h || at1 == h && at0 < l {
			// Both ends of the weight must be further away than the errors; the first has no left neighbour.
			left := i == 0 || at1 > e1 || at1 == e1 && at0 > e0
			r0, b := bits.Sub64(l, at0, 0)
			r1 := h - at1 - b
			right := i == s.count()-1 || r1 > e1 || r1 == e1 && r0 > e0
			return i, left && right
		}
		var b uint64
		at0, b = bits.Sub64(at0, l, 0)
		at1 -= h + b
	}
	return 0, false
}

// shareAtLong decides the same with more digits of u and of the weights until one is left.
func shareAtLong(src *Source, s shares, u1, u0 uint64) int {
	slack, u := s.longSlack(), new(big.Int).SetUint64(u1)
	u.Lsh(u, 64).Or(u, new(big.Int).SetUint64(u0))
	for digits := uint(128); ; digits += 64 {
		total, ends := new(big.Int), make([]*big.Int, s.count())
		for i := range ends {
			total.Add(total, s.long(i, digits))
			ends[i] = new(big.Int).Set(total)
		}
		at := new(big.Int).Mul(u, total)
		at.Rsh(at, digits)
		for i := range ends {
			gap := new(big.Int).Sub(ends[i], at)
			if gap.Sign() <= 0 {
				continue
			}
			left := i == 0 || new(big.Int).Sub(at, ends[i-1]).Cmp(slack) > 0
			if left && (i == len(ends)-1 || gap.Cmp(slack) > 0) {
				return i
			}
			break
		}
		u.Lsh(u, 64).Or(u, new(big.Int).SetUint64(src.Uint64()))
	}
}
