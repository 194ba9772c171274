package mechanism

import (
	"fmt"
	"math"
	"math/bits"
	"sync"

	"github.com/dpproxy/dpproxy/internal/loss"
)

// selection decides which groups are released. A group of no units never is.
type selection interface {
	// keep draws whether a group with that many units is released; it consumes as many words whatever their number is.
	keep(src *Source, units int64) bool
	// thresholds are the least number of units kept with probability ½ or more, and the number kept but for a chance
	// below 1e-9.
	thresholds() (half, always int64)
}

// prepareSelection shares ε and δ over the groups that one unit may be in. At a finite order it compares optimal
// selection with a Gaussian threshold of the same divergence. Sums of weights have a threshold alone, of Laplace noise
// under pure ε (docs/mechanisms.md, section 10).
func (p *Prepared) prepareSelection() error {
	g := p.guarantee
	if !(g.Delta > 0) {
		return fmt.Errorf("partition selection needs a delta above 0")
	}
	optimal, err := (*selector)(nil), error(nil)
	if p.release.Squares == 0 {
		if optimal, err = p.prepareOptimal(); !g.atOrder() {
			return err
		}
	}
	noise, order, want := Laplace, math.Inf(1), target(g.Epsilon)
	if g.atOrder() {
		noise, order, want = Gaussian, g.Order, g.Epsilon*(1-epsMargin)
	}
	u := p.release.unit()
	noisy := newThreshold(leastNoise(noise, u, order, want), u, g.Delta)
	if optimal == nil || noisy.tau < optimal.half {
		p.units = noisy
		p.curve = sync.OnceValue(func() Curve {
			c := curveOf(noisy.cost)
			if !g.atOrder() {
				c.Pure = g.Epsilon
			}
			return c
		})
	}
	return nil
}

// prepareOptimal takes optimal selection.
func (p *Prepared) prepareOptimal() (*selector, error) {
	g, groups := p.guarantee, p.task.most()
	eps := g.Epsilon / groups
	if g.atOrder() {
		eps = epsilonAt(func(eps float64) float64 { return groups * loss.Response(g.Order, eps) }, groups,
			g.Epsilon*(1-epsMargin))
	}
	optimal, err := newSelector(eps, g.Delta/groups)
	if err != nil {
		return nil, err
	}
	p.units = optimal
	p.curve = func() Curve {
		c := PureCurve(eps).Times(int(groups))
		if !g.atOrder() {
			c.Pure = g.Epsilon
		}
		return c
	}
	return optimal, nil
}

// selectionOne is probability 1 in the fixed-point numbers of a selector.
const selectionOne = 1 << 62

// selector is optimal partition selection (Desfontaines, Voss, Gipson and Mandayam 2022): a partition with n units is
// kept with the largest probability π(n) that (ε, δ)-DP allows given π(n−1) and π(0) = 0,
//
//	π(n) = min(e^ε·π(n−1) + δ, 1 − e^−ε·(1 − π(n−1) − δ), 1).
//
// The probabilities are integers over 2^62, each rounded down, with e^ε rounded down to 32 bits behind the point: both
// conditions hold exactly for the numbers that are drawn with.
type selector struct {
	pi   []uint64 // pi[n] for n < len(pi); 1 from there on
	half int64    // least n with π(n) ≥ ½
}

// maxSelection bounds the table, and with it the memory that an analyst's choice of ε can cost: ε down to about 1e-3.
const maxSelection = 1 << 16

func newSelector(eps, delta float64) (*selector, error) {
	step := uint64(delta * (1 - 1e-12) * selectionOne)
	if step == 0 {
		return nil, fmt.Errorf("partition selection with delta %g: the least is 2^-62", delta)
	}
	// e^ε in units of 2^−32; from 20 on selection is limited by δ alone, so a smaller ε does no harm.
	grow := uint64(math.Exp(math.Min(eps, 20)) * (1 - 1e-12) * (1 << 32))
	s := &selector{pi: []uint64{0}}
	for p := uint64(0); ; {
		hi, lo := bits.Mul64(p, grow)
		up := uint64(selectionOne)
		if hi>>32 == 0 {
			up = min(up, hi<<32|lo>>32)
			up = min(selectionOne, up+step)
		}
		down := uint64(selectionOne)
		if p+step < selectionOne {
			// 1 − (1 − π − δ)/e^ε, the quotient rounded up.
			rest := selectionOne - p - step
			q, r := bits.Div64(rest>>32, rest<<32, grow)
			if r > 0 {
				q++
			}
			down = selectionOne - q
		}
		p = min(up, down)
		if p >= selectionOne {
			break
		}
		if p <= s.pi[len(s.pi)-1] || len(s.pi) > maxSelection {
			return nil, fmt.Errorf("partition selection with epsilon %g and delta %g keeps no group of a reasonable size", eps,
				delta)
		}
		s.pi = append(s.pi, p)
	}
	for s.half < int64(len(s.pi)) && s.pi[s.half] < selectionOne/2 {
		s.half++
	}
	return s, nil
}

// keep consumes one word.
func (s *selector) keep(src *Source, n int64) bool {
	word := src.Uint64() >> 2
	if n < 0 {
		n = 0
	}
	if n >= int64(len(s.pi)) {
		return true
	}
	return word < s.pi[n]
}

func (s *selector) thresholds() (half, always int64) { return s.half, int64(len(s.pi)) }

// Select decides whether a group with that many units is released. Only for Selection; false for any other kind.
func (p *Prepared) Select(s *Source, units int64) bool {
	return p.units != nil && p.units.keep(s, units)
}

// SelectThreshold is the number of units at which a group is kept with probability ½ or more, and the number from which
// it is kept but for a chance below 1e-9. Where units weigh the less the more groups they are in, these are in no
// other.
func (p *Prepared) SelectThreshold() (half, always int64) {
	if p.units == nil {
		return 0, 0
	}
	return p.units.thresholds()
}

// SpreadThreshold is the former number where units are in as many groups as one may be.
func (p *Prepared) SpreadThreshold() int64 {
	if t, ok := p.units.(*threshold); ok {
		return t.spread()
	}
	half, _ := p.SelectThreshold()
	return half
}
