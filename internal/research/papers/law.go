package papers

import "math"

// law is a continuous distribution.
type law interface {
	density(x float64) float64
	below(x float64) float64 // the probability of less
}

// gaussian has a mean and a standard deviation.
type gaussian struct{ mu, sigma float64 }

func (g gaussian) density(x float64) float64 {
	z := (x - g.mu) / g.sigma
	return math.Exp(-z*z/2) / (g.sigma * math.Sqrt(2*math.Pi))
}

func (g gaussian) below(x float64) float64 { return math.Erfc((g.mu-x)/(g.sigma*math.Sqrt2)) / 2 }

// laplace has a mean and a scale.
type laplace struct{ mu, lambda float64 }

func (l laplace) density(x float64) float64 {
	return math.Exp(-math.Abs(x-l.mu)/l.lambda) / (2 * l.lambda)
}

func (l laplace) below(x float64) float64 {
	tail := math.Exp(-math.Abs(x-l.mu)/l.lambda) / 2
	if x < l.mu {
		return tail
	}
	return 1 - tail
}
