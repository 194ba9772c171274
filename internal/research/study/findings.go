package study

import (
	"fmt"
	"io"
	"math"

	"github.com/dpproxy/dpproxy/internal/mechanism"
)

// CroftDataDependent is the scale of Croft et al. for a location i sensitivities away from a single infinite
// constraint: (32) at the constraint, (33) beyond, on the principal branch up to its mode at i = 1/ε and on the branch
// −1 from there, which makes it fall from 1.586Δ/ε to Δ/ε. In units of Δ.
func CroftDataDependent(i, eps float64) float64 {
	first := -1 / (lambertW(-1/(2*math.E), 0) * math.E * eps)
	if i == 0 {
		return first
	}
	x := -2 * i * math.Exp(-i*eps) * math.Exp(-i*math.Exp(-i*eps)/first) / first
	branch := 0
	if i > 1/eps {
		branch = -1
	}
	return -i * math.Exp(i*eps) * first / (lambertW(x, branch)*math.Exp(i*eps)*first + i)
}

// CroftLogRatio is |ln p/q| at z ≤ 0 for the mechanism of Croft et al., section 4.1 (constraint (0, ∞)), with locations
// i and j sensitivities below 0: the scale depends on the location.
func CroftLogRatio(i, j, z, eps float64) float64 {
	log := func(k float64) float64 {
		scale := CroftDataDependent(k, eps)
		return -math.Abs(z+k)/scale - math.Log(scale*(2-math.Exp(-k/scale)))
	}
	return math.Abs(log(i) - log(j))
}

// FuRegime3 is the corrected (22)/(23): the divergence of order a of two Laplace distributions at 0 and μ truncated to
// [a, b] inside (0, μ), of which only b−a matters. The paper prints 1/(1−2α) in place of 1/(2α−1).
func FuRegime3(order, length, lambda float64) float64 {
	l := length / lambda
	return math.Log((math.Exp((order-1)*l)-math.Exp(-order*l))/((2*order-1)*-math.Expm1(-l))) / (order - 1)
}

// laplacePair is PairDivergence of Laplace noise of scale 1.
func laplacePair(order, a, b, s, u float64) float64 {
	return PairDivergence(mechanism.Laplace, 1, order, a, b, s, u)
}

// findings prints where the papers' claims do not hold. None of it can be selected by a policy.
func findings(out io.Writer) {
	fmt.Fprintln(out, "\nfindings (for study; no policy can select these):")
	fmt.Fprintln(out, "  Croft et al., theorem 1, scales (32) and (33): the ratio grows without limit on the open side")
	for _, c := range []struct{ eps, i, j, z float64 }{
		{1, 3, 4, 0},
		{1, 3, 4, -50},
		{1, 3, 4, -200},
		{.1, 0, 1, -200},
		{.1, 0, 1, -1000},
	} {
		r := CroftLogRatio(c.i, c.j, c.z, c.eps)
		fmt.Fprintf(out, "    epsilon %-4g locations %g and %g spans away, output %5g: |log ratio| %.3g%s\n", c.eps, c.i, c.j,
			c.z, r, exceeds(r, c.eps))
	}
	fmt.Fprintln(
		out, "  Fu et al., theorem 4.1 (mu = lambda = 1, order 8): outside its regimes the untruncated curve (6) is no bound")
	plain := mechanism.FuLaplaceRenyi(8, 1, 1)
	for _, c := range []struct{ a, b float64 }{{0, 1}, {0, 5}, {-3, 3}} {
		d := math.Max(laplacePair(8, c.a, c.b, 0, 1), laplacePair(8, c.a, c.b, 1, 0))
		fmt.Fprintf(out, "    [%g, %g]: divergence %.4f, (6) gives %.4f%s\n", c.a, c.b, d, plain, exceeds(d, plain))
	}
	fmt.Fprintf(out, "  Fu et al., (22) with 1/(2a-1) for 1/(1-2a): [0.2, 0.8] at order 2 %.5f, by integration %.5f\n",
		FuRegime3(2, .6, 1), laplacePair(2, .2, .8, 0, 1))
}

func exceeds(value, bound float64) string {
	if value > bound*(1+1e-6) {
		return "  exceeds"
	}
	return ""
}
