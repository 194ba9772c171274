package mechanism

import "math"

// preference are the boundings that auto compares. Of those with nearly equal errors it takes the first: a clamped answer
// has no bias away from the bounds, a denoised one is drawn to the middle everywhere. Folding errs more than clamping where the noise
// is narrow against the range, and more than denoising where it is wide.
var preference = []Bounding{Clamp, Truncate, Denoise}

// nearlyEqual is how much more than the least an average error may be for a preferred bounding to be taken.
const nearlyEqual = .01

// denoiseReach is how many scales long a range may be for auto to compare denoising: on longer ones it gains below 1%.
const denoiseReach = 24

// worthwhile says whether auto compares a mechanism that has not been asked for. A unit's other rows may be in other
// releases of a layer, where truncation is charged too much (section 13).
func (p *Prepared) worthwhile(n Noise, b Bounding) bool {
	switch b {
	case Truncate:
		return !p.task.layered
	case Denoise:
		for _, c := range p.candidates { // its noise is that of clamp
			if c.Noise == n && c.Bounding == Clamp {
				return !p.task.open && float64(p.task.v.hull().span()) <= denoiseReach*c.Scale
			}
		}
		return false
	}
	return true
}

// best is the index of the candidate that auto takes: the one with the least average error of the first bounding that
// comes near the least of all.
func best(list []Candidate) int {
	least := math.Inf(1)
	for _, c := range list {
		least = math.Min(least, c.RMSEAverage)
	}
	at := -1
	for i, c := range list {
		switch {
		case c.RMSEAverage > least*(1+nearlyEqual):
		case at < 0 || c.Bounding == list[at].Bounding && c.RMSEAverage < list[at].RMSEAverage*(1-1e-9):
			at = i
		}
	}
	return at
}
