package release

import (
	"slices"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite/aggregate"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// PostgreSQL has no group without rows. A block with declared keys releases something for every key; which of its
// groups are shown, released numbers say that are 0 over no rows (docs/privacy.md P17a).

// rowsOfGroup is the call that counts the rows of a group where the statement does not.
var rowsOfGroup = &aggregate.Call{Name: "count", Star: true, Text: "rows of a group"}

// dropsEmpty reports whether groups may be dropped. A row of a public table that a join keeps is a group whatever joins
// it, a block without keys has one row, and partition selection has decided by then. Where the statement asks whether
// there are rows, those without are dropped in any case.
func (b *Planner) dropsEmpty(k *Block) bool {
	return b.Compared || !b.KeepsEmpty && !b.Every && len(k.Keys) > 0 && !k.Selected && k.Source.Preserved == nil
}

// countRows releases the number of rows of each group where groups may be dropped and no release of the calls says
// which. It is to be asked before sums are planned.
func (b *Planner) countRows(k *Block, calls []*aggregate.Call) error {
	if !k.DropsEmpty || k.existence() != nil {
		return nil
	}
	for _, c := range calls {
		if positive, err := b.positiveSum(k, c); err != nil || positive {
			return err
		}
	}
	k.call = rowsOfGroup
	i := k.count(rowsOfGroup.Text, nil)
	k.unasked = 1 + i
	if len(calls) > 0 {
		k.Releases[i].Weight = 1
	}
	return nil
}

// askedWeight is the weight of a release that the statement asks for against one that only says which groups exist:
// noise that is wider by a quarter at most, or by an eighth where it is Gaussian, pays for that.
const askedWeight = 4

// suggestions finds releases that are 0 over no rows, where the number of rows was not asked for and has little of the
// price: far from 0, they say that there are rows.
func (k *Block) suggestions() []int {
	var out []int
	for _, m := range k.Measurements {
		if k.unasked > 0 && m.Release != k.unasked-1 && k.Releases[m.Release].Kind == mechanism.Scalar {
			out = append(out, m.Release)
		}
	}
	return out
}

// positiveSum reports whether a call is a sum over all rows of values above 0, which is 0 over no rows alone.
func (b *Planner) positiveSum(k *Block, c *aggregate.Call) (bool, error) {
	if c.Name != "sum" || c.Rows() != nil {
		return false, nil
	}
	a, err := b.measured(k, c, c.Args[0])
	if err != nil {
		return false, aggregate.LocatedCall(b.Base, b.Refusal(err), c)
	}
	return a.Lo > 0, nil
}

// existence finds releases that are 0 over no rows and not all 0 over some: a count of all rows, of its two parts, of
// their units, of different values of an expression that is never NULL, or a sum of values above 0. nil: there are
// none.
func (k *Block) existence() []int {
	for _, what := range []string{"count ", "units "} {
		if i, ok := k.index[what+query.Key(nil)]; ok {
			return []int{i}
		}
	}
	if i := slices.IndexFunc(k.Columns, func(c Column) bool { return c.Parts }); i >= 0 {
		return k.Columns[i].Releases
	}
	for _, m := range k.Measurements {
		if m.Where == nil && k.Releases[m.Release].Kind == mechanism.Scalar && (m.Distinct != nil && m.row == nil ||
			m.row != nil && m.row.lo > 0) {
			return []int{m.Release}
		}
	}
	return nil
}
