package release

import (
	"fmt"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/aggregate"
	"github.com/dpproxy/dpproxy/internal/rewrite/bind"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// maxModeValues bounds the values that a mode chooses among: each is a release of every group.
const maxModeValues = 256

// newCall types an aggregate call whose value is to be released. That of mode() is computed of the released counts of
// each value that its argument may have, and of these alone (docs/privacy.md P13a).
func (b *Planner) newCall(k *Block, f *pg_query.FuncCall, sc *bind.Scope) (*aggregate.Call, error) {
	if aggregate.RowArgument(f) != nil {
		return aggregate.NewRowCount(b.Base, f, sc)
	}
	node := aggregate.ModeArgument(f)
	if node == nil {
		return aggregate.NewCall(b.Base, f, sc)
	}
	x, err := sc.Expression(node)
	if err != nil {
		return nil, err
	}
	values, err := b.modeValues(k, &Key{Expr: x, node: node}, sc)
	if err != nil {
		return nil, err
	}
	return aggregate.NewMode(b.Base, f, x, values, sc)
}

// modeValues lists the values that a mode chooses among, in order. Before parameters are known there may be none.
func (b *Planner) modeValues(k *Block, g *Key, sc *bind.Scope) ([]string, error) {
	refuse := func(message string) error {
		return b.Refuse(refusal.ReturnsValues, g.node, fmt.Sprintf("mode(%s) ", g.Text())+message,
			"Take the mode of a column with declared values, or of a number or date with narrow bounds. "+
				"Or take the largest group: GROUP BY x ORDER BY count(*) DESC LIMIT 1.")
	}
	if g.OfUnit() {
		return nil, refuse("returns values of private rows")
	}
	if err := b.declarePublic(g, sc); err != nil {
		return nil, err
	}
	domain := &Domain{Keys: []*Key{g}}
	if err := b.listValues(domain, k.Source.Conditions); err != nil {
		return nil, refuse("returns values of private rows, and those of " + g.Text() + " are not declared")
	}
	var values []string
	for i := range domain.Tuples.Len() {
		if v, known := domain.Tuples.Value(i, 0); known {
			values = append(values, string(v))
		}
	}
	if len(values) > maxModeValues {
		return nil, refuse(fmt.Sprintf("would choose among more than %d values", maxModeValues))
	}
	return values, nil
}

// planMode releases the count of each value, and takes the first of the values that has the greatest.
func (k *Block) planMode(c *aggregate.Call) (query.Scalar, []int) {
	var uses []int
	var counts, cases []query.Scalar
	for i, part := range c.Mode.Counts {
		n := k.countOf(part)
		uses = append(uses, n)
		counts = append(counts, ReleasedColumn(n))
		cases = append(cases, query.F("WHEN {} THEN {}", ReleasedColumn(n), c.Mode.Values[i]))
	}
	if len(uses) == 0 {
		return query.Raw("NULL"), nil
	}
	return query.F("CASE GREATEST({}) WHEN 0 THEN NULL {} END", query.List{Between: ", ", Of: counts},
		query.List{Between: " ", Of: cases}), uses
}
