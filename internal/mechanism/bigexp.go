package mechanism

import "math/big"

// bigExp returns e with |2^prec·exp(−num/2^m) − e| ≤ 4, for num ≥ 0 and any m (negative m: multiplied by 2^−m).
// It is the arbiter behind the 64-bit exponential: slow, and asked about once in 2^40 draws.
func bigExp(num *big.Int, m int, prec uint) *big.Int {
	y := new(big.Int).Set(num)
	if m < 0 {
		y.Lsh(y, uint(-m))
		m = 0
	}
	if whole := new(big.Int).Rsh(y, uint(m)); whole.BitLen() > 40 || whole.Uint64() > uint64(prec)+2 {
		return new(big.Int) // exp(−x) < 2^−x < 2^−(prec+2)
	}
	// exp(−x) = exp(−x/2^r)^(2^r), with x/2^r < 1/16. Each squaring at most doubles the error and adds one unit.
	r := uint(y.BitLen()) + 4
	if uint(m) >= r {
		r = 0
	} else {
		r -= uint(m)
	}
	work := prec + r + 16
	x := new(big.Int).Lsh(y, work) // x·2^work·2^(m+r)
	x.Rsh(x, uint(m)+r)
	sum := new(big.Int).Lsh(big.NewInt(1), work)
	term := new(big.Int).Set(sum)
	for i := int64(1); term.Sign() > 0; i++ {
		term.Mul(term, x)
		term.Rsh(term, work)
		term.Quo(term, big.NewInt(i))
		if i%2 == 1 {
			sum.Sub(sum, term)
		} else {
			sum.Add(sum, term)
		}
	}
	for range r {
		sum.Mul(sum, sum)
		sum.Rsh(sum, work)
	}
	return sum.Rsh(sum, work-prec)
}
