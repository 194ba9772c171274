package finish

import (
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/rewrite/bind"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/release"
)

// level is one query level that aggregates private rows, taken apart by the statement's analysis: all that has to be planned anew for
// other values of the parameters.
type level struct {
	rows      *pg_query.SelectStmt // FROM and WHERE
	env       *bind.Env
	groups    *groupings
	calls     []*pg_query.FuncCall
	withins   []bind.Within
	intervals []bind.Interval
	grouping  [][]int
	compared  bool           // EXISTS compares its count with 0
	outputs   map[int]string // by index of the call: the result column that is this call and nothing else
}

// Planned are the release blocks of a statement: planned for values of its parameters or, by its analysis, to see that they can be.
type Planned struct {
	*bind.Binder
	Blocks []*release.Block
	Levels []Level
	reads  []placeholderRead // by placeholder
	before []*release.Block  // of the stages before
}

// add plans the blocks of a level, one for each grouping set.
func (p *Planned) add(l *level, src *relation.Relation, sc *bind.Scope) error {
	u := placeholderRead{sets: l.groups.sets, keys: len(l.groups.keys), grouping: l.grouping}
	for _, set := range l.groups.sets {
		var nodes []*pg_query.Node
		for _, i := range set {
			nodes = append(nodes, l.groups.keys[i])
		}
		k, err := (&release.Planner{Base: p.Base}).NewBlock(src, sc, nodes, l.calls, l.intervals, slices.Concat(p.before, p.Blocks))
		if err != nil {
			return err
		}
		if err := k.PlanWithin(p.Base, l.withins); err != nil {
			return err
		}
		if err := k.PlanIntervals(p.Base, l.intervals); err != nil {
			return err
		}
		k.Compared = l.compared
		for call, name := range l.outputs {
			k.Columns[call].Output = name
		}
		u.blocks = append(u.blocks, len(p.Blocks))
		p.Blocks = append(p.Blocks, k)
	}
	if len(l.groups.sets) > 1 {
		for _, n := range l.groups.keys {
			e, err := sc.Expression(n)
			if err != nil {
				return err
			}
			u.types = append(u.types, e.TypeName())
		}
	}
	p.Levels = append(p.Levels, levels(u, p.Blocks)...)
	p.reads = append(p.reads, u)
	return nil
}

// Level says that the groups of a block are parts of those of another.
type Level struct {
	Block, Of int   // of the blocks that the query reads
	Keys      []int // by key of Of: the same key of Block
	Pairs     []release.Pair
}

// levels finds for each grouping set one that has the most of its keys, and not all, where releases of the two add up.
func levels(u placeholderRead, blocks []*release.Block) (out []Level) {
	for i, fine := range u.sets {
		best := Level{Block: u.blocks[i]}
		for j, coarse := range u.sets {
			if len(coarse) >= len(fine) || best.Pairs != nil && len(coarse) <= len(best.Keys) {
				continue
			}
			keys := make([]int, len(coarse))
			for at, key := range coarse {
				keys[at] = slices.Index(fine, key)
			}
			if slices.Contains(keys, -1) {
				continue
			}
			if pairs := blocks[u.blocks[i]].PartsOf(blocks[u.blocks[j]]); pairs != nil {
				best.Of, best.Keys, best.Pairs = u.blocks[j], keys, pairs
			}
		}
		if best.Pairs != nil {
			out = append(out, best)
		}
	}
	return out
}
