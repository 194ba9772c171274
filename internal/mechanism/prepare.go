package mechanism

import (
	"fmt"
	"math"
	"sync"
)

// maxGroups is the largest C that is accepted.
const maxGroups = 1 << 20

// Prepared is a release with its mechanism chosen and calibrated, before any data is read. It is immutable and safe for
// concurrent use; the Source that it draws from is not.
type Prepared struct {
	release    Release
	guarantee  Guarantee
	task       task
	candidates []Candidate
	chosen     int

	sampler    func() *sampler
	curve      func() Curve
	cube       *Cube // joint noise that it is a coordinate of; nil: none
	coordinate int
	draws      int                         // how many it is made of (Added, Averaged); 0: it is one
	added      func(wrong float64) float64 // the margin of such a number; nil: it is none
	running    *running                    // noise for all groups at once; nil: each has its own

	// of |released − true|, by their probability, before the range caps it; nil: it has no such noise
	quantiles  *quantiles[float64]
	tails      *quantiles[int64]   // EmptyTail
	denoised   func() *denoised    // of Denoise, for that
	thresholds *quantiles[float64] // EmptyThreshold
	outline    func() *Outline     // Scalar
	rank       *rankSampler        // Quantile
	joint      *jointQuantiles     // of a family that is drawn jointly; nil: by halving, or alone
	units      selection           // Selection
}

// Bytes is how much its tables take, beside some kilobytes. That of a vector counts with its first coordinate.
func (p *Prepared) Bytes() int {
	if s, ok := p.units.(*selector); ok {
		return 8 * cap(s.pi)
	}
	if p.cube != nil && p.coordinate == 0 {
		return p.cube.law.bytes()
	}
	return 0
}

// prepared memoises Prepare, a pure function of the release's shape and the guarantee. That it is emptied costs a
// calibration each.
var prepared = memo[string, *Prepared]{
	most: 32 << 20,
	size: func(_ string, p *Prepared) int { return mechanismBytes + p.Bytes() },
}

// mechanismBytes is what one takes at most, beside its tables.
const mechanismBytes = 60 << 10

// Prepare chooses and calibrates the mechanism of a release. g is for the release over all groups of a unit; with
// Delta 0 and no finite Order only mechanisms with a pure ε are admitted. Errors say what is wrong with the release or
// the guarantee and are meant for policy authors; they depend on no data.
//
// Sensitivity 0 is treated as 1: no answer is ever released without noise. A sensitivity above the range's length is
// that length. A one-point range releases its point and costs nothing.
func Prepare(r Release, g Guarantee) (*Prepared, error) {
	key := fmt.Sprint(r.Kind, r.Range, r.Sensitivity, r.Total, r.Groups, r.Row, r.Squares, r.Layered(), r.Decides,
		r.Choice, r.PerRow, r.Fraction, r.End, r.Running, r.Place, g)
	p, err := prepared.find(key, func() (*Prepared, error) { return prepare(r, g) })
	if err != nil && r.Name != "" {
		err = fmt.Errorf("%s: %w", r.Name, err)
	}
	return p, err
}

func prepare(r Release, g Guarantee) (*Prepared, error) {
	if err := check(&r, g); err != nil {
		return nil, err
	}
	if r.InChain() {
		r.Choice.Bounding = Clamp // sums of what a range has bounded have a bias
	}
	t, err := newTask(r, g)
	if err != nil {
		return nil, err
	}
	if err := t.check(); err != nil {
		return nil, err
	}
	p := &Prepared{release: r, guarantee: g, task: t, tails: &quantiles[int64]{}, thresholds: &quantiles[float64]{}}
	switch r.Kind {
	case Quantile:
		return p, p.prepareQuantile()
	case Selection:
		return p, p.prepareSelection()
	}
	if err := p.choose(r.Choice); err != nil {
		return nil, err
	}
	c := p.Chosen()
	p.sampler = sync.OnceValue(func() *sampler { return newSampler(c.kernel) })
	p.curve = sync.OnceValue(c.curve)
	p.denoised = sync.OnceValue(c.newDenoised)
	p.quantiles = &quantiles[float64]{}
	p.outline = sync.OnceValue(p.newOutline)
	if r.InChain() && p.running == nil {
		p = p.inChain()
	}
	return p, nil
}

// check validates and fills in defaults.
func check(r *Release, g Guarantee) error {
	if r.Groups == 0 {
		r.Groups = 1
	}
	if r.Sensitivity == 0 {
		r.Sensitivity = 1
	}
	switch {
	case math.IsNaN(g.Epsilon) || math.IsInf(g.Epsilon, 0) || g.Epsilon <= 0:
		return fmt.Errorf("epsilon is %g: it must be a positive number", g.Epsilon)
	case math.IsNaN(g.Delta) || g.Delta < 0 || g.Delta >= 1:
		return fmt.Errorf("delta is %g: it must be 0 or between 0 and 1", g.Delta)
	case r.Groups < 0 || r.Groups > maxGroups:
		return fmt.Errorf("%d groups per unit: the limit is %d", r.Groups, maxGroups)
	case g.Order != GDP && (g.atOrder() && !(g.Order > 1) || math.IsNaN(g.Order) || g.Order < 0):
		return fmt.Errorf("order is %g: a divergence has an order above 1", g.Order)
	case g.Delta > 0 && g.Delta/float64(r.Groups) < 1e-30:
		return fmt.Errorf("delta %g over %d groups is too small to calibrate: use 0 or more than 1e-30 each", g.Delta,
			r.Groups)
	case r.Sensitivity < 0:
		return fmt.Errorf("sensitivity is %d grid steps: it cannot be negative", r.Sensitivity)
	case r.Sensitivity > limit:
		return fmt.Errorf("sensitivity is %d grid steps, beyond 2^60: use a coarser grid", r.Sensitivity)
	case r.Squares < 0 || r.Squares > limit:
		return fmt.Errorf("squares add up to %d: they must lie between 0 and 2^60", r.Squares)
	case r.Total < 0 || r.Total > limit:
		return fmt.Errorf("total sensitivity is %d grid steps: it must lie between 0 and 2^60", r.Total)
	}
	if r.InChain() && (r.Kind != Scalar || r.Place < 1 || r.Place > r.Running || r.Running > MostRunning) {
		return fmt.Errorf("place %d of a chain of %d: there is none", r.Place, r.Running)
	}
	switch r.Kind {
	case Scalar, Quantile:
		return r.Range.check()
	case SumGivenCount:
		if r.PerRow.Lo > r.PerRow.Hi {
			return fmt.Errorf("per-row range: lower end %d is above upper end %d", r.PerRow.Lo, r.PerRow.Hi)
		}
	case Selection:
	default:
		return fmt.Errorf("release kind %q is unknown", r.Kind)
	}
	return nil
}

// choose fills in the candidates that the choice leaves open, and takes one whose average error is the least or close
// to it (docs/mechanisms.md, section 12).
func (p *Prepared) choose(c Choice) error {
	noises, boundings, calibration := []Noise{Laplace, Gaussian, Staircase}, preference, Tight
	switch {
	case c.Noise != "":
		noises = []Noise{c.Noise}
	case c.Bounding == Cells:
		noises = []Noise{Staircase, Laplace}
	}
	if c.Bounding != "" {
		boundings = []Bounding{c.Bounding}
	}
	if c.Calibration != "" {
		calibration = c.Calibration
	}
	if c.Calibration == Paper && c.Bounding == "" {
		boundings = []Bounding{Truncate}
	}
	var first error
	for _, b := range boundings {
		for _, n := range noises {
			if c.Bounding == "" && !p.worthwhile(b, n) || c.Noise == "" && n == Staircase && b != Cells && !p.stairsGain() {
				continue
			}
			candidate, err := p.task.candidate(n, b, calibration)
			if err != nil {
				if first == nil {
					first = err
				}
				continue
			}
			p.candidates = append(p.candidates, candidate)
		}
	}
	if len(p.candidates) == 0 {
		return first
	}
	p.chosen = best(p.candidates)
	if chosen := p.candidates[p.chosen]; chosen.Bounding == Truncate && !p.task.open && p.task.most() > 1 {
		p.task.exact = true
		sharper, err := p.task.candidate(chosen.Noise, chosen.Bounding, chosen.Calibration)
		if err != nil {
			return err
		}
		p.candidates[p.chosen] = sharper
	}
	p.addRunning(c)
	p.candidates[p.chosen].Chosen = true
	return nil
}

// Chosen is the candidate that Draw uses, without its Loss.
func (p *Prepared) Chosen() Candidate {
	if len(p.candidates) == 0 {
		return Candidate{}
	}
	return p.candidates[p.chosen]
}

// Candidates are all mechanisms that were compared, the chosen one among them, with their Loss.
func (p *Prepared) Candidates() []Candidate {
	list := make([]Candidate, len(p.candidates))
	for i, c := range p.candidates {
		list[i] = c.shown()
	}
	return list
}

// Curve is what the release costs, over all groups. For Selection it is the ε part; its δ is the guarantee's.
func (p *Prepared) Curve() Curve { return p.curve() }

// Epsilon is the ε, or the divergence at the guarantee's order, that the release was prepared for, over all groups.
func (p *Prepared) Epsilon() float64 { return p.guarantee.Epsilon }

// Delta is the δ of its guarantee: of a selection alone it is more than 0.
func (p *Prepared) Delta() float64 { return p.guarantee.Delta }

// DrawnWith says whether two of so many quantiles are drawn in one way: both by one joint draw of as many, or both not.
func (p *Prepared) DrawnWith(other *Prepared, quantiles int) bool {
	return p.joint == other.joint && (p.joint == nil || len(p.joint.fractions) == quantiles)
}
