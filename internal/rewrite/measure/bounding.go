package measure

import (
	"slices"

	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// pickOrder orders a unit's groups by keyed hash of their first million characters, then by the group: a choice that
// depends on this unit's rows alone.
func (t *builder) pickOrder(of *query.Alias) []query.Scalar {
	groups := columns(of, t.groupNames())
	short := func(x query.Scalar) query.Scalar { // for what they are together is no text that is too long
		return query.F(`pg_catalog."left"({}::pg_catalog.text, 1048576)`, x)
	}
	text := short(of.Column("u"))
	for _, c := range groups {
		text = query.F(`{} || E'\x1f' || COALESCE({}, E'\x1e')`, text, short(c))
	}
	return append([]query.Scalar{t.hashed("hashtextextended", text)}, groups...)
}

// ranked keeps, of rows that name their unit, the first of each unit by order, in at most the groups that it counts in.
// rest is what a row has besides its unit and its group.
func (t *builder) ranked(rows query.Query, rest []string, order []query.Scalar, first int64) query.Query {
	w, groups := rankedAlias, t.groupNames()
	unit, all := []query.Scalar{w.Column("u")}, slices.Concat([]string{"u"}, groups, rest)
	if t.k.PicksGroups {
		pick := query.Pick{Partition: unit, Order: t.pickOrder(w), Groups: true}
		inner := &query.Select{
			Outputs: append(named(w, all...), query.Output{X: pick, Name: "pick_group"}),
			From:    &query.Derived{Query: rows, As: w},
		}
		rows = &query.Select{Outputs: named(w, all...), From: &query.Derived{Query: inner, As: w}, Where: []query.Scalar{
			query.First{Rank: w.Column("pick_group"), N: t.k.MaxPartitionsContributed},
		}}
	}
	pick := query.Pick{Partition: unit, Order: append(slices.Clone(order), columns(w, groups)...)}
	inner := &query.Select{Outputs: append(named(w, all...), query.Output{X: pick, Name: "pick"}), From: &query.Derived{
		Query: rows, As: w,
	}}
	return &query.Select{
		Outputs: named(w, append(groups, rest...)...), From: &query.Derived{Query: inner, As: w},
		Where: []query.Scalar{query.First{Rank: w.Column("pick"), N: first}},
	}
}
