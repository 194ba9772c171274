package measure

import (
	"fmt"

	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/release"
)

// pickOrder orders a unit's groups by keyed hash, then by the group: a choice that depends on this unit's rows alone.
func (t *builder) pickOrder(of *query.Alias) []query.Scalar {
	groups := columns(of, t.groupNames())
	text := query.Scalar(query.F("{}::pg_catalog.text", of.Column("u")))
	for _, c := range groups {
		text = query.F(`{} || E'\x1f' || COALESCE({}::pg_catalog.text, E'\x1e')`, text, c)
	}
	return append([]query.Scalar{t.hashed("hashtextextended", text)}, groups...)
}

// ranked keeps, of rows that name their unit, the first of each unit in each group by order, in at most C groups. column is what a row
// has besides its unit and its group.
func (t *builder) ranked(rows query.Query, column string, order []query.Scalar, first int64) query.Query {
	w, groups := rankedAlias, t.groupNames()
	unit := w.Column("u")
	outputs := append(named(w, append(append([]string{"u"}, groups...), column)...),
		query.Output{X: query.Pick{Partition: append([]query.Scalar{unit}, columns(w, groups)...), Order: order}, Name: "pick"})
	where := []query.Scalar{query.First{Rank: w.Column("pick"), N: first}}
	if t.k.PicksGroups {
		pick := query.Pick{Partition: []query.Scalar{unit}, Order: t.pickOrder(w), Groups: true}
		outputs = append(outputs, query.Output{X: pick, Name: "pick_group"})
		where = append(where, query.First{Rank: w.Column("pick_group"), N: t.k.MaxPartitionsContributed})
	}
	inner := &query.Select{Outputs: outputs, From: &query.Derived{Query: rows, As: w}}
	return &query.Select{Outputs: named(w, append(groups, column)...), From: &query.Derived{Query: inner, As: w}, Where: where}
}

// clampedOfUnit clamps the integer of one unit. A sum that is divided by a count shrinks as the count does where a unit has more rows than
// it may: a mean of its rows stays what it is.
func clampedOfUnit(k *release.Block, ms []release.Measurement, m release.Measurement, i int) query.Scalar {
	s := unitsAlias.Column(fmt.Sprintf("s%d", i+1))
	if !m.SumGivenCount || k.Source.Proven {
		return m.Clamped(s)
	}
	for n, o := range ms {
		if o.Release != m.Count {
			continue
		}
		count := unitsAlias.Column(fmt.Sprintf("s%d", n+1))
		fewer := query.F("pg_catalog.div({}::pg_catalog.numeric * {}, {})", s, k.Source.MaxRowsPerUnit, count)
		return query.F("CASE WHEN {} > {} THEN {}::pg_catalog.int8 ELSE {} END", count, k.Source.MaxRowsPerUnit, m.Clamped(fewer), m.Clamped(s))
	}
	return m.Clamped(s)
}
