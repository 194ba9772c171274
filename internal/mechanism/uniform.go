package mechanism

import (
	"math/big"
	"math/bits"
)

// uniform64 maps a random word to an exactly uniform integer in [0, n), n ≥ 1, or says that the word must be rejected
// (Lemire 2019): the high half of word·n is uniform once the low half is at least 2^64 mod n.
func uniform64(word, n uint64) (uint64, bool) {
	hi, lo := bits.Mul64(word, n)
	if lo < n && lo < -n%n {
		return 0, false
	}
	return hi, true
}

// uniform128 is uniform64 on 128 bits: two words to [0, n), n = nHi·2^64 + nLo ≥ 1.
func uniform128(u1, u0, nHi, nLo uint64) (hi, lo uint64, ok bool) {
	hi, lo, r1, r0 := product128(u1, u0, nHi, nLo)
	if r1 < nHi || r1 == nHi && r0 < nLo {
		if below128(r1, r0, nHi, nLo) {
			return 0, 0, false
		}
	}
	return hi, lo, true
}

// product128 is (u1,u0)·(nHi,nLo) = (r3,r2,r1,r0): n times a fraction u/2^128 is (r3,r2), and (r1,r0) behind the point.
func product128(u1, u0, nHi, nLo uint64) (r3, r2, r1, r0 uint64) {
	c0, r0 := bits.Mul64(u0, nLo)
	aHi, aLo := bits.Mul64(u0, nHi)
	bHi, bLo := bits.Mul64(u1, nLo)
	cHi, cLo := bits.Mul64(u1, nHi)
	r1, k1 := bits.Add64(c0, aLo, 0)
	r1, k2 := bits.Add64(r1, bLo, 0)
	r2, k3 := bits.Add64(aHi, bHi, 0)
	r2, k4 := bits.Add64(r2, cLo, 0)
	r2, k5 := bits.Add64(r2, k1+k2, 0)
	return cHi + k3 + k4 + k5, r2, r1, r0
}

// below128 says whether (hi,lo) < 2^128 mod n.
func below128(hi, lo, nHi, nLo uint64) bool {
	word := func(h, l uint64) *big.Int {
		b := new(big.Int).SetUint64(h)
		return b.Lsh(b, 64).Or(b, new(big.Int).SetUint64(l))
	}
	r := new(big.Int).Lsh(big.NewInt(1), 128)
	r.Mod(r, word(nHi, nLo))
	return word(hi, lo).Cmp(r) < 0
}
