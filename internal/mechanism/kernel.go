package mechanism

import (
	"math"
	"math/big"
	"math/bits"
)

// limit is the largest magnitude of a grid step: open ends of a range stand for it, so that every support is finite and
// every output can be reached from every true value.
const limit = 1 << 60

// MostSteps is the largest magnitude of a released integer.
const MostSteps = limit

// maxKappa bounds κ from above. At 64 the noise is 0 but for one draw in 10²⁷; a larger ε buys nothing more.
const maxKappa = 64

// kernel is integer noise: weight exp(−κ·g(d)), g(d) = |d|, d² or a number of stairs, with κ = k/2^m exactly.
type kernel struct {
	noise Noise
	kappa float64
	k     uint64
	m     int

	period, inner uint64 // Staircase: P and r (staircase.go)
}

// newKernel takes κ as it is: a float64 is a dyadic rational. κ is capped at maxKappa.
func newKernel(noise Noise, kappa float64) kernel {
	kappa = math.Min(kappa, maxKappa)
	frac, exp := math.Frexp(kappa)
	return kernel{noise: noise, kappa: kappa, k: uint64(frac * (1 << 53)), m: 53 - exp}
}

// Scale is λ = 1/κ of the Laplace noise, σ = 1/√(2κ) of the Gaussian, in grid steps; of the staircase half of all
// weight over that of 0.
func (n kernel) scale() float64 {
	switch n.noise {
	case Laplace:
		return 1 / n.kappa
	case Staircase:
		return float64(n.inner) + float64(n.period)/math.Expm1(n.kappa)
	}
	return 1 / math.Sqrt(2*n.kappa)
}

// kappaOf is the inverse of scale.
func kappaOf(noise Noise, scale float64) float64 {
	if noise == Laplace {
		return 1 / scale
	}
	return 1 / (2 * scale * scale)
}

// distance is where the weight is exp(−exponent).
func (n kernel) distance(exponent float64) float64 {
	switch n.noise {
	case Laplace:
		return exponent / n.kappa
	case Staircase:
		return exponent / n.kappa * float64(n.period)
	}
	return math.Sqrt(exponent / n.kappa)
}

// log is the logarithm of the weight at a real distance; of the staircase at a whole one.
func (n kernel) log(d float64) float64 {
	switch n.noise {
	case Laplace:
		return -n.kappa * math.Abs(d)
	case Staircase:
		return -n.kappa * n.stair(math.Abs(d))
	}
	return -n.kappa * d * d
}

// exponent returns κ·g(d) as a 64.64 fixed-point number, rounded down (error < 2^−64), saturated at the top.
func (n kernel) exponent(d uint64) (hi, lo uint64) {
	g1, g0 := uint64(0), d
	switch n.noise {
	case Gaussian:
		g1, g0 = bits.Mul64(d, d)
	case Staircase: // d ≤ 2^62 and P ≤ 2^60: no overflow
		g0 = (d + n.period - n.inner) / n.period
	}
	c, p0 := bits.Mul64(g0, n.k)
	p2, p1 := bits.Mul64(g1, n.k)
	p1, carry := bits.Add64(p1, c, 0)
	p2 += carry // g1·k < 2^117: no overflow
	return shift192(p2, p1, p0, n.m-64)
}

// shift192 returns (p2,p1,p0)·2^−s as two words, saturated.
func shift192(p2, p1, p0 uint64, s int) (hi, lo uint64) {
	for ; s >= 64; s -= 64 {
		p2, p1, p0 = 0, p2, p1
	}
	for ; s <= -64; s += 64 {
		if p2 != 0 {
			return math.MaxUint64, math.MaxUint64
		}
		p2, p1, p0 = p1, p0, 0
	}
	switch {
	case s > 0:
		p0 = p0>>s | p1<<(64-s)
		p1 = p1>>s | p2<<(64-s)
		p2 >>= s
	case s < 0:
		if p2>>(64+s) != 0 {
			return math.MaxUint64, math.MaxUint64
		}
		p2 = p2<<-s | p1>>(64+s)
		p1 = p1<<-s | p0>>(64+s)
		p0 <<= -s
	}
	if p2 != 0 {
		return math.MaxUint64, math.MaxUint64
	}
	return p1, p0
}

// bigExponent returns num and m with κ·g(d) = num/2^m, exactly.
func (n kernel) bigExponent(d uint64) (num *big.Int, m int) {
	num = new(big.Int).SetUint64(d)
	switch n.noise {
	case Gaussian:
		num.Mul(num, num)
	case Staircase:
		num.SetUint64((d + n.period - n.inner) / n.period)
	}
	return num.Mul(num, new(big.Int).SetUint64(n.k)), n.m
}
