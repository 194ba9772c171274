package finish

import (
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/rewrite/bind"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/release"
)

// level is one query level that aggregates private rows, as the statement's analysis has split it: all that has to be
// planned anew for other values of the parameters.
type level struct {
	rows      *pg_query.SelectStmt // FROM and WHERE
	env       *bind.Env
	groups    *groupings
	calls     []*pg_query.FuncCall
	withins   []bind.Within
	intervals []bind.Interval
	grouping  [][]int
	written   string // as the analyst wrote its one call, where that is another; empty: it is not
	limit     int    // how many groups an order of what is released of them leaves; 0: all
	chosen    bool   // what is released of its groups, or of others, says otherwise which are shown
	choosers  []int  // the calls that say so
	windows   []release.Window
	compared  bool           // EXISTS asks of its count whether there are rows
	every     bool           // it counts rows for every row around, also those that have none
	outputs   map[int]string // by index of the call: the column of the query that is this call and nothing else
}

// Planned are the release blocks of a statement: planned for values of its parameters or, by its analysis, to see that
// they can be.
type Planned struct {
	*bind.Binder
	Blocks []*release.Block
	Levels []Level
	reads  []placeholderRead // by placeholder
	before []*release.Block  // of the stages before
}

// add plans the blocks of a level, one for each grouping set.
func (p *Planned) add(l *level, src *relation.Relation, sc *bind.Scope) error {
	planner := &release.Planner{
		Base: p.Base, Compared: l.compared, Every: l.every,
		Nests: len(l.groups.sets) == 1 && len(l.withins) == 0 && len(l.windows) == 0,
	}
	u := placeholderRead{sets: l.groups.sets, keys: len(l.groups.keys), grouping: l.grouping}
	for _, w := range l.windows {
		if !slices.Contains(u.summed, w.Call) {
			u.summed = append(u.summed, w.Call)
		}
	}
	for _, set := range l.groups.sets {
		var nodes []*pg_query.Node
		for _, i := range set {
			nodes = append(nodes, l.groups.keys[i])
		}
		k, err := planner.NewBlock(src, sc, nodes, l.calls, l.intervals, slices.Concat(p.before, p.Blocks))
		if err != nil {
			return err
		}
		if err := k.PlanWithin(p.Base, l.withins); err != nil {
			return err
		}
		if err := k.PlanIntervals(p.Base, l.intervals); err != nil {
			return err
		}
		for call, name := range l.outputs {
			k.Columns[call].Output = name
		}
		k.Chosen = l.chosen
		for _, call := range l.choosers {
			k.Columns[call].Chooses = true
		}
		if l.written != "" {
			k.Columns[0].Name = l.written
		}
		if len(l.groups.sets) == 1 {
			k.Limit = l.limit
			for _, w := range l.windows {
				w.Column, w.Adds = k.Columns[w.Call], k.Adds(w.Call)
				k.Windows = append(k.Windows, w)
			}
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

// Level says that the groups of a block are parts of those of another: what a group is that is not shown, its parts are
// not either.
type Level struct {
	Block, Of int            // of the blocks that the query reads
	Keys      []int          // by key of Of: the same key of Block
	Pairs     []release.Pair // what adds up, of each block to one other at most
}

// levels finds for each grouping set those that have its keys but for as few as may be, and among them one, of the most
// keys, where releases of the two add up.
func levels(u placeholderRead, blocks []*release.Block) (out []Level) {
	for i := range u.sets {
		all := coarser(u, i)
		sums := -1
		for at, l := range all {
			if pairs := blocks[l.Block].PartsOf(blocks[l.Of]); pairs != nil && (sums < 0 || len(l.Keys) > len(all[sums].Keys)) {
				sums, all[at].Pairs = at, pairs
			}
		}
		for at, l := range all {
			between := func(m Level) bool {
				return len(m.Keys) > len(l.Keys) && !slices.ContainsFunc(
					l.Keys, func(key int) bool { return !slices.Contains(m.Keys, key) })
			}
			if at != sums {
				l.Pairs = nil
			}
			if at == sums || len(l.Keys) > 0 && !slices.ContainsFunc(all, between) {
				out = append(out, l)
			}
		}
	}
	return out
}

// coarser lists the grouping sets that have some of the keys of one, and not all.
func coarser(u placeholderRead, fine int) (out []Level) {
	for j, set := range u.sets {
		l := Level{Block: u.blocks[fine], Of: u.blocks[j], Keys: make([]int, len(set))}
		for at, key := range set {
			l.Keys[at] = slices.Index(u.sets[fine], key)
		}
		if len(set) < len(u.sets[fine]) && !slices.Contains(l.Keys, -1) {
			out = append(out, l)
		}
	}
	return out
}
