package engine

import (
	"strconv"

	"github.com/dpproxy/dpproxy/internal/engine/estimate"
	"github.com/dpproxy/dpproxy/internal/mechanism"
)

// densityInfo is the distribution of a released value over a window of its valid range: a mechanism.Outline in the value's own units.
type densityInfo struct {
	Lo     float64      `json:"lo"` // the window's first and last grid point
	Hi     float64      `json:"hi"`
	Points int64        `json:"points"`      // grid points of each weight but the last
	Last   int64        `json:"last_points"` // of the last
	Inside weightsInfo  `json:"inside"`
	End    *weightsInfo `json:"end,omitempty"` // nil: the range has no lower end
}

// weightsInfo are probabilities of parts of the window.
type weightsInfo struct {
	True    float64 `json:"true"`
	Weights []short `json:"weights"`
}

// short is a probability that is printed with three digits, for a figure.
type short float64

func (s short) MarshalJSON() ([]byte, error) {
	if s < 1e-6 { // nothing to be seen
		s = 0
	}
	return strconv.AppendFloat(nil, float64(s), 'g', 3, 64), nil
}

// describeDensity is nil where a release's distribution depends on the rows or on a released count, and where the range has gaps.
func describeDensity(c *calibrated, block, release int) *densityInfo {
	r := c.Plan.Blocks[block].Releases[release]
	o := c.Mechanisms[block].Releases[release].Outline()
	if o == nil {
		return nil
	}
	value := func(z int64) float64 { return r.Grid.Origin + estimate.Step(r)*float64(z) }
	weights := func(w mechanism.Weights) weightsInfo {
		info := weightsInfo{True: value(w.True), Weights: make([]short, len(w.Parts))}
		for i, p := range w.Parts {
			info.Weights[i] = short(p)
		}
		return info
	}
	info := &densityInfo{Lo: value(o.Window.Lo), Hi: value(o.Window.Hi), Points: o.Points, Last: o.Last, Inside: weights(o.Inside)}
	if o.End != nil {
		end := weights(*o.End)
		info.End = &end
	}
	return info
}
