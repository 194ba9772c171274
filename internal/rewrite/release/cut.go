package release

import (
	"slices"

	"github.com/dpproxy/dpproxy/internal/rewrite/aggregate"
	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
)

// Cut says that numbers of one unit beyond what the policy lets it add count as less where they are added up
// (docs/privacy.md P8e).
type Cut struct {
	Of        string   // the number, as the analyst wrote it
	To        string   // what it counts as
	Low, High bool     // at which end
	Share     *float64 // of what is added up that is left out, at most, as the administrator vouches; nil if nobody knows
}

// cutOf says what of the arguments of a call is cut; nil: nothing.
func (k *Block) cutOf(c *aggregate.Call) *Cut {
	if c.Name == "count" || c.Name == "bool_and" || c.Name == "bool_or" {
		return nil
	}
	for _, x := range c.Args {
		if !x.Cuts() {
			continue
		}
		cut := &Cut{Of: x.Text(), Low: true, High: true}
		if col := x.Column(); col != nil {
			cut.Low, cut.High = col.Beyond.Most.Lo != nil, col.Beyond.Most.Hi != nil
		}
		cut.To = ends(x.Bounds(), cut.Low, cut.High)
		if k.sharesCut(c, x) {
			cut.Share = k.declaredShare()
		}
		return cut
	}
	return nil
}

// ends prints the ends of bounds beyond which values lie.
func ends(of bounds.Interval, low, high bool) string {
	switch {
	case !of.Finite():
		return ""
	case !low:
		return bounds.Decimal(of.Hi)
	case !high:
		return bounds.Decimal(of.Lo)
	}
	return bounds.Decimal(of.Lo) + " or " + bounds.Decimal(of.Hi)
}

// sharesCut reports whether what is left out of a sum is the share of rows that the administrator vouches for: of a
// number of rows, or a sum of values that are not negative, of all units alike. Conditions and keys that read such
// numbers choose the units that have more of them.
func (k *Block) sharesCut(c *aggregate.Call, x *expr.Expr) bool {
	col := x.Column()
	if c.Name != "sum" && c.Name != "avg" || c.Values() != nil || col == nil || col.Computed() {
		return false
	}
	chosen := slices.ContainsFunc(k.Source.Conditions, (*expr.Expr).ReadsBeyond) || c.Filter != nil &&
		c.Filter.ReadsBeyond() ||
		slices.ContainsFunc(k.Keys, func(g *Key) bool { return g.ReadsBeyond() })
	return !chosen && k.Single() && col.Bounds.Lo != nil && col.Bounds.Lo.Sign() >= 0
}

// BeyondGroups lists keys of which some rows' values are in no group, as they are numbers of one unit beyond the
// policy's bounds.
func (k *Block) BeyondGroups() []Cut {
	var out []Cut
	for _, g := range k.Keys {
		col := g.Column()
		switch {
		case col != nil && col.Beyond != nil && !col.Beyond.Whole && !k.Selected:
			out = append(out, Cut{Of: g.Text(), To: ends(g.Listed(), col.Beyond.Most.Lo != nil, true)})
		case col == nil && g.Cuts():
			out = append(out, Cut{Of: g.Text(), Low: true, High: true})
		}
	}
	return out
}
