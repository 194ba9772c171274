package mechanism

import (
	"math"
	"slices"
)

// preference are the boundings that auto compares. Of those with nearly equal errors it takes the first: a clamped
// answer has no bias away from the bounds, a denoised one is drawn to the middle everywhere. Folding errs more than
// clamping where the noise is narrow against the range, and more than denoising where it is wide.
var preference = []Bounding{Clamp, Truncate, Denoise, Cells}

// nearlyEqual is how much more than the least an average error may be for a preferred bounding to be taken.
const nearlyEqual = .01

// denoiseReach is how many scales long a range may be for auto to compare denoising: on longer ones it gains below 1%.
const denoiseReach = 24

// worthwhile says whether auto compares a mechanism that has not been asked for. A unit's other rows may be in other
// releases of a layer, where truncation is charged too much (section 13). Its calibration is by far the dearest, and on
// a range without gaps it errs no less than clamp, denoise or cells do.
func (p *Prepared) worthwhile(b Bounding, n Noise) bool {
	clamped := slices.IndexFunc(p.candidates, func(c Candidate) bool { return c.Noise == n && c.Bounding == Clamp })
	switch b {
	case Truncate:
		return !p.task.layered && (clamped < 0 || len(p.task.v) > 1 || p.release.Decides)
	case Denoise: // its noise is that of clamp
		return clamped >= 0 && !p.task.open && !p.release.Decides &&
			float64(p.task.v.hull().span()) <= denoiseReach*p.candidates[clamped].Scale
	case Cells:
		return p.cellsGain(n)
	}
	return true
}

// stairsGain says whether auto compares staircase noise: with stairs of one step it is Laplace noise, and the pure ε of
// one stair has to be neither small nor more than it may be. A sum that is divided by its count keeps another noise:
// the margin of the two would be wider (pair.go).
func (p *Prepared) stairsGain() bool {
	period, stairs := p.task.stairPeriod()
	if period < 2 || period > longestStair || p.release.Kind == SumGivenCount {
		return false
	}
	g := p.guarantee
	return !g.pure() || g.Epsilon >= minStair*stairs && g.Epsilon <= maxStair*stairs
}

// best is the index of the candidate that auto takes: the first whose average error is near the least of all.
func best(list []Candidate) int {
	least := math.Inf(1)
	for _, c := range list {
		least = math.Min(least, c.RMSEAverage)
	}
	for i, c := range list {
		if c.RMSEAverage <= least*(1+nearlyEqual) {
			return i
		}
	}
	return 0
}
