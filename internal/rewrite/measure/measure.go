package measure

import (
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/release"
)

// builder makes the queries of one block.
type builder struct {
	b *relation.Base
	k *release.Block
}

// Names of the query levels of a measure query.
var (
	unitsAlias  = query.Named("u") // the integers of each unit in each group
	keyedAlias  = query.Named("q") // rows that are about to be numbered
	rankedAlias = query.Named("w") // rows of one unit that are ranked
	partAlias   = query.Named("p") // one part of several that are added
	groupsAlias = query.Named("g") // the groups of the answer
	sparseAlias = query.Named("h") // steps of a histogram
)

// Integers makes the query for all integers of a block, and names the releases that its columns are of.
func Integers(b *relation.Base, k *release.Block) (query.Query, []int) {
	if len(k.Measurements) == 0 && !k.Selected {
		return nil, nil
	}
	t := &builder{b: b, k: k}
	var plain []release.Measurement
	var order []int
	for _, m := range k.Measurements {
		if m.Distinct == nil {
			plain = append(plain, m)
			order = append(order, m.Release)
		}
	}
	var parts []query.Query
	width := len(k.Measurements)
	if len(plain) > 0 || k.Selected {
		parts = append(parts, t.part(t.groupsOf(plain), 0, len(plain), true))
	}
	at := len(plain)
	for _, m := range k.Measurements {
		if m.Distinct != nil {
			parts = append(parts, t.part(t.distinctOf(m), at, 1, false))
			order = append(order, m.Release)
			at++
		}
	}
	total := parts[0]
	if len(parts) > 1 {
		total = t.add(parts, width)
	}
	return t.totals(total, width), order
}

// keyNames gives the names of the key columns: k1, k2….
func (t *builder) keyNames() []string { return numbered("k", len(t.k.Keys)) }

// byKeys says that groups are named by their keys, and are not numbered.
func (t *builder) byKeys() bool { return t.k.Selected || t.k.ByKey || len(t.k.Keys) == 0 }

// groupNames gives the columns that identify a group: the ordinal of its keys, or the keys themselves.
func (t *builder) groupNames() []string {
	if t.byKeys() {
		return t.keyNames()
	}
	return []string{"o"}
}

// keyOutputs selects the keys of a row.
func (t *builder) keyOutputs() []query.Output {
	var out []query.Output
	for i, g := range t.k.Keys {
		sql := g.SQL()
		if t.byKeys() {
			sql = g.Selection
		} else if g.Collation() != "" {
			sql = query.F("{}{}", sql, g.Equality()) // what is one group here is one value of the domain
		}
		out = append(out, query.Output{X: sql, Name: fmt.Sprintf("k%d", i+1)})
	}
	return out
}

// unitOutput selects the unit of a row.
func (t *builder) unitOutput() query.Output { return query.Output{X: t.k.Source.Unit, Name: "u"} }

// named selects columns of an item under their own names.
func named(of *query.Alias, names ...string) []query.Output {
	out := make([]query.Output, len(names))
	for i, n := range names {
		out[i] = query.Output{X: of.Column(n), Name: n}
	}
	return out
}

func columns(of *query.Alias, names []string) []query.Scalar {
	out := make([]query.Scalar, len(names))
	for i, n := range names {
		out[i] = of.Column(n)
	}
	return out
}

func numbered(prefix string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%s%d", prefix, i+1)
	}
	return out
}

// groupsOf gives groups, under selection the number of units n, and integers m1… of every group.
func (t *builder) groupsOf(ms []release.Measurement) query.Query {
	k := t.k
	if !k.Single() {
		return t.groupsOfUnits(ms)
	}
	rows := t.aggregated(t.keyOutputs(), "m", ms)
	if t.byKeys() {
		return rows
	}
	groups := named(unitsAlias, t.groupNames()...)
	for _, m := range numbered("m", len(ms)) {
		groups = append(groups, query.Output{X: query.F("sum({})", unitsAlias.Column(m)), Name: m})
	}
	return &query.Select{Outputs: groups, From: &query.Derived{
		Query: t.numbered(rows, numbered("m", len(ms))),
		As:    unitsAlias,
	}, Groups: 1}
}

// hashed prints a keyed hash of a value.
func (t *builder) hashed(function string, x query.Scalar) query.Scalar {
	return query.F("pg_catalog.{}({}, {})", function, x, release.Parameter(pgtype.Int8OID, t.b.HashSeed()))
}

// part widens a query of count integers, from the block's at-th on, to all of the block's: zeros elsewhere. Under
// selection units says whether the query has the number of units n.
func (t *builder) part(of query.Query, at, count int, units bool) query.Query {
	width := len(t.k.Measurements)
	if count == width && (units || !t.k.Selected) {
		return of
	}
	outputs := named(partAlias, t.groupNames()...)
	if t.k.Selected {
		n := query.Integer(0)
		if units {
			n = partAlias.Column("n")
		}
		outputs = append(outputs, query.Output{X: n, Name: "n"})
	}
	for i := range width {
		v := query.Integer(0)
		if i >= at && i < at+count {
			v = partAlias.Column(fmt.Sprintf("m%d", i-at+1))
		}
		outputs = append(outputs, query.Output{X: v, Name: fmt.Sprintf("m%d", i+1)})
	}
	return &query.Select{Outputs: outputs, From: &query.Derived{Query: of, As: partAlias}}
}

// add sums the parts per group.
func (t *builder) add(parts []query.Query, width int) query.Query {
	groups := t.groupNames()
	outputs := named(partAlias, groups...)
	sums := numbered("m", width)
	if t.k.Selected {
		sums = append([]string{"n"}, sums...)
	}
	for _, name := range sums {
		outputs = append(outputs, query.Output{X: query.F("sum({})", partAlias.Column(name)), Name: name})
	}
	all := &query.Derived{Query: &query.SetOp{Op: "UNION ALL", Of: parts}, As: partAlias}
	return &query.Select{Outputs: outputs, From: all, Groups: len(groups)}
}

// totals makes what main returns: the group, and its integers.
func (t *builder) totals(of query.Query, width int) query.Query {
	outputs := relation.UnnamedOutputs(columns(groupsAlias, t.groupNames()))
	switch {
	case t.k.Selected:
		outputs = append(outputs, query.Output{X: fitting(groupsAlias.Column("n"))})
	case len(outputs) == 0:
		outputs = []query.Output{{X: theGroup}}
	}
	for _, m := range numbered("m", width) {
		outputs = append(outputs, query.Output{X: fitting(query.F("COALESCE({}, 0)", groupsAlias.Column(m)))})
	}
	return &query.Select{Outputs: outputs, From: &query.Derived{Query: of, As: groupsAlias}}
}

// fitting keeps an integer within 2^62, so that it fits whatever main holds.
func fitting(x query.Scalar) query.Scalar {
	return query.Clamp{X: x, Lo: query.F("({})", -bounds.MaxTotal), Hi: query.Integer(bounds.MaxTotal)}
}

// theGroup prints the ordinal of the one group of a block without keys.
const theGroup = query.Raw("1::pg_catalog.int8")
