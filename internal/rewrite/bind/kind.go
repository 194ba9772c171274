package bind

import (
	"cmp"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/aggregate"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// Kind says what the rows of a query are.
type Kind int

const (
	Public   Kind = iota // public rows and constants
	Released             // computed from released values: anything may be done with them
	Private              // about persons: only an aggregate may follow
)

// KindOf says what the rows of a query are, without planning it.
func (b *Binder) KindOf(s *pg_query.SelectStmt, e *Env) (Kind, error) {
	key := kindKey{s, e}
	if k, ok := b.known[key]; ok {
		return k, nil
	}
	if k, ok := b.kinds[key]; ok {
		return k, nil
	}
	if err := b.countLevel(); err != nil {
		return 0, err
	}
	k, err := b.findKind(s, e)
	if err == nil {
		b.kinds[key] = k
	}
	return k, err
}

func (b *Binder) findKind(s *pg_query.SelectStmt, e *Env) (Kind, error) {
	e = WithCTEs(s.WithClause, e)
	if s.Op != pg_query.SetOperation_SETOP_NONE {
		l, err := b.KindOf(s.Larg, e)
		if err != nil {
			return 0, err
		}
		r, err := b.KindOf(s.Rarg, e)
		return max(l, r), err
	}
	k := Public
	for _, n := range s.FromClause {
		item, err := b.KindOfItem(n, e)
		if err != nil {
			return 0, err
		}
		k = max(k, item)
	}
	if k != Private {
		return b.kindOfSubqueries(s, e, k)
	}
	if !sqltree.Aggregates(s) && len(s.DistinctClause) == 0 {
		return Private, nil
	}
	probe := *b
	src, err := probe.Source(s, e)
	if err != nil {
		return 0, b.ofValues(s, err)
	}
	keys, err := probe.groupColumns(s, src)
	if err != nil {
		return 0, err
	}
	for _, c := range keys {
		if c == nil {
			continue
		}
		_, declared := b.OneUnitKey(c) // one that may be NULL is refused: oneUnitKeys
		if c.IsUnit || declared || c.Value.Domain == nil && b.DeterminesUnit(c) {
			return Private, nil
		}
	}
	return Released, nil
}

// ofValues is why a query over private rows is refused: what it returns, where that are values of rows whatever it
// reads, comes before how it is written.
func (b *Binder) ofValues(s *pg_query.SelectStmt, err error) error {
	for _, t := range s.TargetList {
		sqltree.Visit(t, func(n *pg_query.Node) bool {
			if f := n.GetFuncCall(); f != nil && f.Over == nil {
				err = cmp.Or(aggregate.ReturnsValues(b.Base, f), err)
			}
			return n.GetSubLink() == nil
		})
	}
	return err
}

// kindOfSubqueries raises Public to Released where an expression holds a subquery over private tables.
func (b *Binder) kindOfSubqueries(s *pg_query.SelectStmt, e *Env, k Kind) (Kind, error) {
	var failed error
	for _, t := range s.TargetList {
		sqltree.Visit(t, func(n *pg_query.Node) bool {
			if l := n.GetSubLink(); l != nil && failed == nil {
				var inner Kind
				if inner, failed = b.KindOf(l.Subselect.GetSelectStmt(), e); inner != Public {
					k = Released
				}
				return false
			}
			return failed == nil
		})
	}
	return k, failed
}

func (b *Binder) KindOfItem(n *pg_query.Node, e *Env) (Kind, error) {
	switch v := n.GetNode().(type) {
	case *pg_query.Node_RangeVar:
		if v.RangeVar.Schemaname == "" {
			if c := e.FindCTE(v.RangeVar.Relname); c != nil {
				return b.KindOf(c.query, c.env)
			}
		}
		if t := b.Table(v.RangeVar); t != nil {
			if t.Public {
				return Public, nil
			}
			return Private, nil
		}
		if w := b.View(v.RangeVar); w != nil {
			query, err := ViewQuery(w)
			if err != nil {
				return 0, err
			}
			return b.KindOf(query, nil)
		}
		return Public, nil
	case *pg_query.Node_RangeSubselect:
		k, err := b.KindOf(v.RangeSubselect.Subquery.GetSelectStmt(), e)
		if err != nil && v.RangeSubselect.Lateral {
			return Private, nil // it reads the items before it: rows per row of those
		}
		return k, err
	case *pg_query.Node_JoinExpr:
		l, err := b.KindOfItem(v.JoinExpr.Larg, e)
		if err != nil {
			return 0, err
		}
		r, err := b.KindOfItem(v.JoinExpr.Rarg, e)
		return max(l, r), err
	case *pg_query.Node_RangeFunction:
		return Public, nil
	case *pg_query.Node_RangeTableSample:
		return 0, b.Refuse(refusal.Tablesample, n, "TABLESAMPLE is not supported",
			"Leave it out: noise takes nothing from large tables.")
	}
	return 0, b.Refuse(refusal.FromItem, n, "this kind of FROM item is not supported",
		"Use tables, subqueries, joins, VALUES and functions.")
}
