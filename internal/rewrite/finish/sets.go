package finish

import (
	"fmt"
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/bind"
)

// groupings holds the grouping sets of a query: one for a plain GROUP BY.
type groupings struct {
	keys  []*pg_query.Node // all group expressions, each once
	index map[string]int   // of keys, by scope key
	sets  [][]int          // indexes into keys
}

// maxSets bounds the grouping sets of one block: each is released on its own.
const maxSets = 32

// placeholderRead says what a placeholder reads: one block per grouping set.
type placeholderRead struct {
	blocks []int
	sets   [][]int
	keys   int
	types  []string // of keys, where a set may lack them
	// grouping lists the GROUPING(…) calls, each a list of indexes into keys
	grouping [][]int
	summed   []int // calls that windows add up over all groups, also those that are not shown
}

// groupingSets resolves GROUP BY with GROUPING SETS, ROLLUP and CUBE.
func (b *finisher) groupingSets(s *pg_query.SelectStmt, sc *bind.Scope) (*groupings, error) {
	plain := !slices.ContainsFunc(s.GroupClause, func(n *pg_query.Node) bool { return n.GetGroupingSet() != nil })
	g := &groupings{index: map[string]int{}, sets: [][]int{{}}}
	if plain {
		nodes, err := b.GroupNodes(s, sc)
		if err != nil {
			return nil, err
		}
		for _, n := range nodes {
			i := g.add(n, sc)
			if !slices.Contains(g.sets[0], i) {
				g.sets[0] = append(g.sets[0], i)
			}
		}
		return g, nil
	}
	for _, n := range s.GroupClause {
		sets, err := b.setsOf(n, s, sc, g)
		if err != nil {
			return nil, err
		}
		var product [][]int
		for _, l := range g.sets {
			for _, r := range sets {
				product = append(product, unite(l, r))
			}
		}
		g.sets = product
		if len(g.sets) > maxSets {
			return nil, b.Refuse(refusal.GroupingSets, n, fmt.Sprintf("more than %d grouping sets", maxSets),
				"Every grouping set is a release of its own: name the sets that you need.")
		}
	}
	return g, nil
}

// addToAll adds expressions to every set, which determines them.
func (g *groupings) addToAll(nodes []*pg_query.Node) {
	for _, n := range nodes {
		for i, set := range g.sets {
			g.sets[i] = append(slices.Clone(set), len(g.keys))
		}
		g.keys = append(g.keys, n)
	}
}

func unite(l, r []int) []int {
	out := slices.Clone(l)
	for _, i := range r {
		if !slices.Contains(out, i) {
			out = append(out, i)
		}
	}
	return out
}

// add registers a group expression.
func (g *groupings) add(n *pg_query.Node, sc *bind.Scope) int {
	k := sc.Key(n)
	i, ok := g.index[k]
	if !ok {
		i = len(g.keys)
		g.index[k], g.keys = i, append(g.keys, n)
	}
	return i
}

// setsOf lists the grouping sets of one GROUP BY item.
func (b *finisher) setsOf(n *pg_query.Node, s *pg_query.SelectStmt, sc *bind.Scope, g *groupings) ([][]int, error) {
	v := n.GetGroupingSet()
	if v == nil {
		set, err := b.setOf(n, s, sc, g)
		return [][]int{set}, err
	}
	var parts [][]int
	for _, c := range v.Content {
		if v.Kind == pg_query.GroupingSetKind_GROUPING_SET_SETS {
			sets, err := b.setsOf(c, s, sc, g)
			if err != nil {
				return nil, err
			}
			parts = append(parts, sets...)
			continue
		}
		set, err := b.setOf(c, s, sc, g)
		if err != nil {
			return nil, err
		}
		parts = append(parts, set)
	}
	switch v.Kind {
	case pg_query.GroupingSetKind_GROUPING_SET_EMPTY:
		return [][]int{{}}, nil
	case pg_query.GroupingSetKind_GROUPING_SET_ROLLUP:
		var out [][]int
		for i := len(parts); i >= 0; i-- {
			set := []int{}
			for _, p := range parts[:i] {
				set = unite(set, p)
			}
			out = append(out, set)
		}
		return out, nil
	case pg_query.GroupingSetKind_GROUPING_SET_CUBE:
		if len(parts) > 5 {
			return nil, b.Refuse(refusal.GroupingSets, n, fmt.Sprintf("more than %d grouping sets", maxSets),
				"Use GROUPING SETS.")
		}
		var out [][]int
		for mask := 1<<len(parts) - 1; mask >= 0; mask-- {
			set := []int{}
			for i, p := range parts {
				if mask&(1<<(len(parts)-1-i)) != 0 {
					set = unite(set, p)
				}
			}
			out = append(out, set)
		}
		return out, nil
	}
	return parts, nil
}

// setOf reads one expression, or a list of them in parentheses.
func (b *finisher) setOf(n *pg_query.Node, s *pg_query.SelectStmt, sc *bind.Scope, g *groupings) ([]int, error) {
	nodes := []*pg_query.Node{n}
	if l := n.GetList(); l != nil {
		nodes = l.Items
	} else if r := n.GetRowExpr(); r != nil {
		nodes = r.Args
	}
	var set []int
	for _, n := range nodes {
		resolved, err := b.GroupNode(n, s, sc)
		if err != nil {
			return nil, err
		}
		set = unite(set, []int{g.add(resolved, sc)})
	}
	return set, nil
}
