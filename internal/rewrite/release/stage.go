package release

import (
	"slices"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
)

// keptByStages finds the conditions of a block that say which of its groups exist, as soon as the stages before it are
// answered: those that read keys and rows of stages alone. They hold of a key what they hold of the rows of its group
// (docs/privacy.md P28). Keys are x.k1, x.k2… in them.
func (b *Planner) keptByStages(k *Block) ([]query.Scalar, error) {
	if len(k.Keys) == 0 || k.Source.Empty {
		return nil, nil
	}
	all, preserved := k.Source.Conditions, k.Source.Preserved
	if preserved != nil {
		all = preserved.Conditions
	}
	var kept []query.Scalar
	read := &readStages{conditions: map[query.Source][]query.Scalar{}, known: map[string]bool{}}
	for _, c := range expr.Conjuncts(all...) {
		x, keys := k.overKeys(c)
		names := query.NamesOf(x)
		stage, ok := k.stageOf(names)
		switch {
		case !ok || names.Tables || stage == nil && !names.Given || !keys && preserved == nil:
			continue
		case stage == nil:
			kept = append(kept, x)
		default:
			read.add(stage, x)
		}
		read.known[query.Key(c)] = true
	}
	if preserved != nil && !k.publicRowsFollow(read) {
		return nil, b.RefuseAt(refusal.PublicRowsKept, k.Keys[0].Location(),
			"which rows of the public table are kept follows from released values, and not by the columns that are grouped by",
			"Group by the columns that are compared with released values, or write that comparison into ON.")
	}
	for _, s := range read.stages {
		kept = append(kept, query.Exists{Query: &query.Select{
			Outputs: []query.Output{{X: query.Integer(1)}}, From: s,
			Where: read.conditions[s],
		}})
	}
	return kept, nil
}

// readStages are stages whose rows conditions read, in their order.
type readStages struct {
	stages     []query.Source
	conditions map[query.Source][]query.Scalar
	known      map[string]bool // conditions that are told of keys and stages
}

func (r *readStages) add(stage query.Source, x query.Scalar) {
	if r.conditions[stage] == nil {
		r.stages = append(r.stages, stage)
	}
	r.conditions[stage] = append(r.conditions[stage], x)
}

// publicRowsFollow reports whether the public rows that an outer join keeps follow from public tables and what was read
// of the stages: no other place of them reads a released value.
func (k *Block) publicRowsFollow(read *readStages) bool {
	for _, c := range expr.Conjuncts(k.Source.Preserved.Conditions...) {
		names := query.NamesOf(c)
		if !read.known[query.Key(c)] && (names.Given || k.readsStage(names)) {
			return false
		}
	}
	rows := k.Source.Preserved.Rows()
	for _, c := range rows.Where {
		if !read.known[query.Key(c)] && query.NamesOf(c).Given {
			return false
		}
	}
	items, ok := rows.From.(query.Product)
	if !ok {
		items = query.Product{rows.From}
	}
	for _, s := range items {
		if read.conditions[s] == nil && query.NamesOfSource(s).Given {
			return false
		}
	}
	return true
}

// readsStage reports whether rows of a stage are read.
func (k *Block) readsStage(names query.Names) bool {
	return slices.ContainsFunc(k.Source.Columns, func(c *relation.Column) bool {
		d, ok := c.Stage.(*query.Derived)
		return ok && names.Columns[d.As]
	})
}

// overKeys replaces the keys of the block in a condition, and says whether there is one.
func (k *Block) overKeys(c query.Scalar) (_ query.Scalar, found bool) {
	keys := map[string]query.Scalar{}
	for i, g := range k.Keys {
		keys[query.Key(g.SQL())] = g.Shown(i)
	}
	x := query.Map{Scalar: func(x query.Scalar) query.Scalar {
		key, ok := keys[query.Key(x)]
		if !ok {
			return x
		}
		found = true
		return key
	}}.OfScalar(c)
	return x, found
}

// stageOf finds the one stage whose rows a condition reads beside what it defines itself; nil if it reads none. ok is
// false where it reads anything else.
func (k *Block) stageOf(names query.Names) (stage query.Source, ok bool) {
	for alias := range names.Columns {
		if names.Defined[alias] {
			continue
		}
		var of query.Source
		for _, c := range k.Source.Columns {
			if d, isDerived := c.Stage.(*query.Derived); isDerived && d.As == alias {
				of = d
			}
		}
		if of == nil || stage != nil && stage != of {
			return nil, false
		}
		stage = of
	}
	return stage, true
}
