package mechanism

import (
	"math/big"
	"math/bits"
)

// expSlack bounds the error of expNeg, in units of 2^−63. The test against bigExp sees at most 2.
const expSlack = 64

// expTable holds 2^63·exp(−i/128) for i < 128.
var expTable = func() (t [128]uint64) {
	for i := range t {
		t[i] = bigExp(big.NewInt(int64(i)), 7, 63).Uint64()
	}
	return t
}()

const (
	expLn2   = 0xb17217f7d1cf79ab // 2^64·ln 2, rounded down
	expLog2e = 0xb8aa3b295c17f0bb // 2^63·log2(e), rounded down
)

// expNeg returns v with |2^63·exp(−y) − v| ≤ expSlack for y = hi + lo/2^64, by integers alone and the same steps for
// all y: y = n·ln 2 + i/128 + r with r < 1/128, and a Taylor polynomial in r.
func expNeg(hi, lo uint64) uint64 {
	if hi >= 45 {
		return 0 // exp(−45) < 2^−64
	}
	// n = floor(y·log2 e), perhaps one too small; the remainder stays below ln 2 + 2^−56.
	p, _ := bits.Mul64(lo, expLog2e)
	whole := hi * (expLog2e >> 7) // hi < 64: units 2^−56
	n := (whole + p>>7) >> 56
	rhi, rlo := bits.Mul64(n, expLn2)
	rem, borrow := bits.Sub64(lo, rlo, 0)
	if rest, _ := bits.Sub64(hi, rhi, borrow); rest != 0 {
		rem = 1<<64 - 1
	}
	i := rem >> 57
	r := rem & (1<<57 - 1) // 0.64 fixed point, < 2^−7
	// 1 − r + r²/2 − r³/6 + … up to r⁷/5040: the rest is below 2^−71.
	acc := uint64(1<<63) / 5040
	for _, c := range [...]uint64{1 << 63 / 720, 1 << 63 / 120, 1 << 63 / 24, 1 << 63 / 6, 1 << 63 / 2, 1 << 63, 1 << 63} {
		t, _ := bits.Mul64(acc, r)
		acc = c - t
	}
	v, low := bits.Mul64(acc, expTable[i])
	return (v<<1 | low>>63) >> n
}
