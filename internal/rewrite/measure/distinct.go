package measure

import (
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/release"
)

// distinctOf gives groups and the number of distinct values of every group; one unit adds at most m.Hi values to a group.
func (t *builder) distinctOf(m release.Measurement) query.Query {
	k := t.k
	value := query.Output{X: m.Distinct, Name: "v"}
	src := k.Source.FilteredBy(m.Where)
	count := query.Output{X: query.F("count(DISTINCT {})", rankedAlias.Column("v")), Name: "m1"}
	if k.Single() {
		rows := &query.Select{
			Outputs: append(named(rankedAlias, t.keyNames()...), count),
			From:    &query.Derived{Query: src.Select(append(t.keyOutputs(), value)...), As: rankedAlias}, Groups: len(k.Keys),
		}
		if k.Selected || len(k.Keys) == 0 {
			return rows
		}
		return &query.Select{
			Outputs: append(named(rankedAlias, "o"), query.Output{X: query.F("sum({})", rankedAlias.Column("m1")), Name: "m1"}),
			From:    &query.Derived{Query: t.numbered(rows, []string{"m1"}), As: rankedAlias}, Groups: 1,
		}
	}
	rows := src.Select(append(append([]query.Output{t.unitOutput()}, t.keyOutputs()...), value)...)
	rows.Distinct = true
	v := rankedAlias.Column("v")
	ranked := t.ranked(t.numbered(rows, []string{"u", "v"}), "v", []query.Scalar{t.hashed("hashtextextended", query.F("{}::pg_catalog.text", v)), v}, m.Hi)
	groups := t.groupNames()
	return &query.Select{Outputs: append(named(rankedAlias, groups...), count), From: &query.Derived{Query: ranked, As: rankedAlias}, Groups: len(groups)}
}
