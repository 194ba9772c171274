package measure

import (
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/release"
)

// distinctOf gives groups and the number of distinct values of every group, or the sum of what they add; one unit adds
// at most m.Hi values to all groups together.
func (t *builder) distinctOf(m release.Measurement) query.Query {
	values := []query.Output{{X: m.Distinct, Name: "v"}}
	rest := []string{"v"}
	if x := m.Integer(); x != nil {
		values, rest = append(values, query.Output{X: x, Name: "s"}), append(rest, "s")
	}
	src := t.k.Rows().FilteredBy(m.Where)
	if t.k.Single() {
		rows := src.Select(append(t.keyOutputs(), values...)...)
		if len(rest) == 1 {
			return t.countedOnce(rows)
		}
		rows.Distinct = true
		return t.addedOnce(t.numbered(rows, rest))
	}
	rows := src.Select(append(append([]query.Output{t.unitOutput()}, t.keyOutputs()...), values...)...)
	rows.Distinct = true
	hash := t.hashed("hashtextextended", query.F("{}::pg_catalog.text", rankedAlias.Column("v")))
	if query.IsRow(m.Distinct) { // whose text may be longer than a text can be
		hash = t.hashed("hash_record_extended", rankedAlias.Column("v"))
	}
	// a total one: a value may come with several integers
	order := append([]query.Scalar{hash}, columns(rankedAlias, rest)...)
	ranked := t.ranked(t.numbered(rows, append([]string{"u"}, rest...)), rest, order, m.Hi)
	if len(rest) > 1 {
		return t.addedOnce(ranked)
	}
	groups := t.groupNames()
	return &query.Select{Outputs: append(named(rankedAlias, groups...), distinctValues), From: &query.Derived{
		Query: ranked, As: rankedAlias,
	}, Groups: len(groups)}
}

// distinctValues counts the values of ranked rows.
var distinctValues = query.Output{X: query.F("count(DISTINCT {})", rankedAlias.Column("v")), Name: "m1"}

// countedOnce counts the values of rows that no unit has two of.
func (t *builder) countedOnce(of query.Query) query.Query {
	rows := &query.Select{Outputs: append(named(rankedAlias, t.keyNames()...), distinctValues), From: &query.Derived{
		Query: of, As: rankedAlias,
	}, Groups: len(t.k.Keys)}
	if t.byKeys() {
		return rows
	}
	return &query.Select{
		Outputs: append(named(rankedAlias, "o"), query.Output{X: query.F("sum({})", rankedAlias.Column("m1")), Name: "m1"}),
		From:    &query.Derived{Query: t.numbered(rows, []string{"m1"}), As: rankedAlias}, Groups: 1,
	}
}

// addedOnce adds up s of rows of a group, a value v and an integer s, each row once.
func (t *builder) addedOnce(rows query.Query) query.Query {
	groups := t.groupNames()
	once := &query.Select{Outputs: named(rankedAlias, append(t.groupNames(), "v", "s")...), From: &query.Derived{
		Query: rows, As: rankedAlias,
	}, Distinct: true}
	return &query.Select{
		Outputs: append(named(rankedAlias, groups...), query.Output{
			X: query.F("COALESCE(sum({}), 0)", rankedAlias.Column("s")), Name: "m1",
		}),
		From: &query.Derived{Query: once, As: rankedAlias}, Groups: len(groups),
	}
}
