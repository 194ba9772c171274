package relation

import (
	"slices"

	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
)

// Use says what becomes of a value beyond its column's bounds (docs/privacy.md P3b).
type Use int

const (
	NoGroup   Use = iota // the row is in no group
	Nearest              // an aggregate, or a key that a subquery computes, has the nearest bound
	Condition            // a condition reads the nearest bound
)

// Beyond are the columns of which a statement uses values beyond their bounds so.
type Beyond struct {
	Use     Use
	Columns []string
	Share   *float64 // of the rows, at most; nil: nobody knows
}

// NoteBeyond notes a use of values beyond bounds.
func (b *Base) NoteBeyond(use Use, columns []expr.Outside) {
	b.beyond[use] = expr.JoinOutside(b.beyond[use], columns)
}

// Within keeps the rows of a relation in which a key reads no value beyond its bounds: what merges equal rows, or compares them, would take
// others for equal. The work is done for another relation, which is made of it. It returns of which columns the key may still have values beyond.
func (b *Base) Within(r, of *Relation, key *expr.Expr) []expr.Outside {
	inside := key.AllInside()
	if inside == nil {
		return key.Outside()
	}
	r.Where = append(slices.Clone(r.Where), inside)
	of.AddWork(key.InsideWork(), r.Size())
	b.NoteBeyond(NoGroup, key.Clamped())
	return nil
}

// Beyond lists the uses, but of columns that have no value beyond their bounds.
func (b *Base) Beyond() (out []Beyond) {
	for use, columns := range b.beyond {
		of := Beyond{Use: Use(use), Share: expr.ShareOf(columns)}
		for _, c := range columns {
			if (c.Share == nil || *c.Share > 0) && !slices.Contains(of.Columns, c.Column) {
				of.Columns = append(of.Columns, c.Column)
			}
		}
		if of.Columns != nil {
			out = append(out, of)
		}
	}
	return out
}
