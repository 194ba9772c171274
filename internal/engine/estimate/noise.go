package estimate

import (
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// Noise is what is known of a release before it is drawn.
type Noise struct {
	Mechanism string   `json:"mechanism"`
	Geometry  string   `json:"geometry,omitempty"` // the norm in which the mechanism measures what one unit moves
	Scale     float64  `json:"scale"`              // in the value's own units; 0: it has none that is one number
	Margin    *float64 `json:"margin,omitempty"`   // 95%, likewise; nil: it depends on a released count, or there is none
	OfSum     float64  `json:"-"`                  // of a sum given its count: its 95% margin
	None      bool     `json:"-"`                  // no answer has a margin of it
}

// Noise describes that of a release.
func (s *Statement) Noise(block, release int) Noise {
	b, p := &s.Plan.Blocks[block], s.Mechanisms[block].Releases[release]
	r := b.Releases[release]
	if r.Kind == mechanism.Quantile {
		out := Noise{Mechanism: "exponential mechanism on ranks", Geometry: "L1"}
		n := mechanism.Together(b.Releases, release)
		if _, joint := p.Jointly(); joint {
			out.Mechanism += fmt.Sprintf(", jointly for %d quantiles", n)
		} else if n > 1 {
			out.Mechanism += fmt.Sprintf(", by halving for %d quantiles on %d levels", n, mechanism.Levels(n))
		}
		return out
	}
	chosen := p.Chosen()
	out := Noise{
		Mechanism: string(chosen.Noise) + " " + string(chosen.Bounding), Geometry: "L1",
		Scale: chosen.Scale * Step(r),
	}
	switch {
	case r.InChain():
		out.Mechanism = fmt.Sprintf("%s, jointly for %d nested counts", out.Mechanism, r.Running)
	case p.Running():
		out.Mechanism = fmt.Sprintf("%s, jointly for running totals of %d groups", out.Mechanism, r.Running)
	}
	if cube, _ := p.Joint(); cube != nil {
		out.Mechanism, out.Geometry = fmt.Sprintf("%s, joint for %d releases", out.Mechanism, cube.Dimension()), "L∞"
	} else if chosen.Noise == mechanism.Gaussian {
		out.Geometry = "L2"
	}
	if n := p.Draws(); n > 1 {
		out.Mechanism += fmt.Sprintf(", of %d draws together", n)
	}
	out.None = marginless(b, release)
	switch margin := p.PlannedMargin() * Step(r); {
	case out.None:
	case r.Kind == mechanism.Scalar:
		out.Margin = &margin
	default:
		out.OfSum = margin
	}
	return out
}

// marginless says that no answer has a margin of the aggregates of which a release is the first.
func marginless(b *rewrite.Block, release int) bool {
	first, with := false, false
	for _, c := range b.Columns {
		if len(c.Releases) > 0 && c.Releases[0] == release {
			first = true
			with = with || c.Type != pgtype.BoolOID && (c.Cut == nil || c.Cut.Share != nil) && !Endless(*b, c)
		}
	}
	return b.Uncovered || first && !with
}

// Endless says of a sum that it may be small while much of both signs lies beyond bounds: it has no margin.
func Endless(b rewrite.Block, c rewrite.Column) bool {
	return len(c.Releases) == 1 && anyBeyond(b.Releases[c.Releases[0]], c)
}

// Step is how large one grid step is, in the value's own units.
func Step(r mechanism.Release) float64 {
	if r.Grid.Step == 0 {
		return 1
	}
	return r.Grid.Step
}
