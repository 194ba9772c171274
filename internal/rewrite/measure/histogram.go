package measure

import (
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/release"
)

// Histogram makes the sparse histogram of a quantile's argument: group, grid step, rows; at most h.MaxRowsPerUnit rows
// of a unit, or one in each group that it counts in, its least or greatest.
func Histogram(b *relation.Base, k *release.Block, h release.Histogram) query.Query {
	t := &builder{b: b, k: k}
	src, step := k.Rows().FilteredBy(h.Where), query.Output{X: h.SQL, Name: "z"}
	outputs := relation.UnnamedOutputs(columns(sparseAlias, append(t.groupNames(), "z")))
	groups := len(outputs)
	if groups == 1 {
		outputs, groups = append([]query.Output{{X: theGroup}}, outputs...), 2
	}
	var rows query.Query
	var part []query.Scalar
	number := query.Scalar(query.Raw("count(*)"))
	switch {
	case k.Single():
		keys := append(t.keyNames(), "z")
		rows = &query.Select{
			Outputs: append(named(rankedAlias, keys...), query.Output{X: number, Name: "n"}),
			From:    &query.Derived{Query: src.Select(append(t.keyOutputs(), step)...), As: rankedAlias}, Groups: len(keys),
		}
		rows, number = t.numbered(rows, []string{"z", "n"}), fitting(query.F("sum({})", sparseAlias.Column("n")))
	case h.Extreme != "":
		rows = t.extremes(src, h)
	case h.Together != nil:
		rows = t.together(h)
		part = []query.Scalar{query.F("{} = {}", sparseAlias.Column("p"), h.Part)}
	default:
		rows = t.numbered(src.Select(append(append([]query.Output{t.unitOutput()}, t.keyOutputs()...), step)...),
			[]string{"u", "z"})
		z := rankedAlias.Column("z")
		rows = t.ranked(rows, []string{"z"}, []query.Scalar{t.hashed("hashint8extended", z), z}, h.MaxRowsPerUnit)
	}
	return &query.Select{Outputs: append(outputs, query.Output{X: number}), From: &query.Derived{
		Query: rows, As: sparseAlias,
	}, Where: part, Groups: groups}
}

// together gives groups, steps z and the histogram p that each is of, of several that read disjoint rows: the first
// rows of a unit in all of them. Whichever it is asked for, these are the same (docs/privacy.md P12a).
func (t *builder) together(h release.Histogram) query.Query {
	var wheres, steps, parts []query.Scalar
	for i, at := range h.Together {
		other := t.k.Histograms[at]
		wheres = append(wheres, other.Where)
		steps = append(steps, query.F("WHEN {} THEN {}", other.Where, other.SQL))
		parts = append(parts, query.F("WHEN {} THEN {}", other.Where, i))
	}
	choose := func(of []query.Scalar) query.Scalar { return query.F("CASE {} END", query.List{Between: " ", Of: of}) }
	src := t.k.Rows().FilteredBy(query.F("({})", query.List{Between: " OR ", Of: wheres}))
	rest := []string{"z", "p"}
	rows := src.Select(append(append([]query.Output{t.unitOutput()}, t.keyOutputs()...),
		query.Output{X: choose(steps), Name: "z"}, query.Output{X: choose(parts), Name: "p"})...)
	order := append([]query.Scalar{t.hashed("hashint8extended", rankedAlias.Column("z"))}, columns(rankedAlias, rest)...)
	return t.ranked(t.numbered(rows, append([]string{"u"}, rest...)), rest, order, h.MaxRowsPerUnit)
}

// extremes gives groups and the least or the greatest step of each unit in each.
func (t *builder) extremes(src *relation.Relation, h release.Histogram) query.Query {
	own := src.Select(append([]query.Output{t.unitOutput()}, t.keyOutputs()...)...)
	own.Groups = len(own.Outputs)
	own.Outputs = append(own.Outputs, query.Output{
		X:    query.F("pg_catalog.{}({})", query.Raw(h.Extreme), h.SQL),
		Name: "z",
	})
	rows := t.numbered(own, []string{"u", "z"})
	if !t.k.ManyGroupsPerUnit || t.k.InEveryGroup() {
		return rows // each group has one row of the unit
	}
	z := rankedAlias.Column("z")
	return t.ranked(rows, []string{"z"}, []query.Scalar{t.hashed("hashint8extended", z), z}, t.k.MaxPartitionsContributed)
}
