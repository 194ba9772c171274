package bounds

import "math/big"

func WideMul(a, b int64) int64 {
	p := new(big.Int).Mul(big.NewInt(a), big.NewInt(b))
	if p.IsInt64() && Abs(p.Int64()) <= MaxTotal {
		return p.Int64()
	}
	if p.Sign() < 0 {
		return -MaxTotal
	}
	return MaxTotal
}

func FloorInt(r *big.Rat) int64 {
	q := new(big.Int)
	q.Div(r.Num(), r.Denom()) // Euclidean: floor for positive denominators
	if !q.IsInt64() || Abs(q.Int64()) > MaxTotal/4 {
		return int64(q.Sign()) * (MaxTotal / 4)
	}
	return q.Int64()
}

func CeilInt(r *big.Rat) int64 { return -FloorInt(new(big.Rat).Neg(r)) }

func Abs(a int64) int64 {
	if a < 0 {
		return -a
	}
	return a
}

// MaxTotal bounds integers that are measured: they fit int64 with room for noise.
const MaxTotal = 1 << 62
