package finish

import (
	"fmt"
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/bind"
	"github.com/dpproxy/dpproxy/internal/rewrite/catalog"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/release"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// Statement is a statement that was cut at its release blocks: the queries of its stages, each of which reads the rows
// of those before it at most, and itself, last.
type Statement struct {
	Queries []*Template
	// Outermost says that the statement itself aggregates private rows, and not a subquery of it alone.
	Outermost bool
	// Ends are the outputs of the statement, by index, that add up the groups of a subquery and have an interval.
	Ends map[int]bool

	stages map[string]*relation.Stage       // by text
	reads  map[string]*relation.PublicQuery // by text; nil: it cannot be read
}

// Stage prints the i-th stage, whose rows are those of a query and which is answered when so many blocks are released.
func (s *Statement) Stage(i int, rows Query, blocks int) Stage {
	for _, found := range s.stages {
		if found.Number == i {
			return stage(found, rows, blocks)
		}
	}
	panic(fmt.Sprintf("the statement has no stage %d", i+1))
}

// maxStages bounds the stages of a statement: each is a question to the shadow, while main waits.
const maxStages = 8

// maxStageRows bounds the rows of a stage: main gets each.
const maxStageRows = 10000

// cutter cuts a statement: it is asked for stages wherever private rows meet released values.
type cutter struct {
	*Statement
	in catalog.Input
}

// Cut splits a statement at its release blocks: what is above them becomes a template, which is the same for all
// values of its parameters. query is a copy that Cut changes; in says which names the template may use.
func Cut(b *relation.Base, query *pg_query.SelectStmt, in catalog.Input) (*Statement, error) {
	c := &cutter{
		Statement: &Statement{stages: map[string]*relation.Stage{}, reads: map[string]*relation.PublicQuery{}},
		in:        in,
	}
	t, err := c.cut(b, query, false)
	if err != nil {
		return nil, b.Refusal(err)
	}
	c.Queries = append(c.Queries, t)
	return c.Statement, nil
}

func (c *cutter) cut(b *relation.Base, query *pg_query.SelectStmt, stage bool) (*Template, error) {
	keyed := stage && isLookup(query)
	f := &finisher{
		Planned: &Planned{Binder: bind.New(b, c)}, stage: stage, root: query,
		correlated: &correlated{
			compare: map[*pg_query.SelectStmt]bool{}, every: map[*pg_query.SelectStmt]bool{},
			around: map[*pg_query.SelectStmt]*pg_query.SelectStmt{}, written: map[string]string{},
			ends: map[*pg_query.SelectStmt]map[int]bool{}, single: map[*pg_query.SelectStmt]bool{},
		},
	}
	limit, before := 0, &correlator{Binder: f.Binder, correlated: f.correlated}
	if !stage {
		limit = before.existence(query)
	}
	if before.query(query, nil); before.refused != nil {
		return nil, before.refused
	}
	if err := f.rewrite(query, nil); err != nil {
		return nil, err
	}
	var outputs []column
	var order *Order
	if !stage {
		c.Outermost, c.Ends = f.outermost, f.ends[query]
		outputs = f.outputsOf(query)
		order = f.orderOf(query, outputs)
	}
	t, err := f.template(c.in, query)
	if err != nil {
		return nil, err
	}
	t.keyed, t.limit, t.outputs, t.order = keyed, limit, outputs, order
	if !keyed {
		return t, nil
	}
	return t, f.checkKeys()
}

// checkKeys refuses a lookup query whose keys are not known beforehand, or too many: a key that noise hides would
// change what it means, and rows that main does not get would be paid for.
func (p *Planned) checkKeys() error {
	k := p.Blocks[len(p.Blocks)-1]
	if k.Selected {
		return refusal.New(refusal.AgainstReleased,
			"rows are compared with an aggregate of the rows that have the same key, whose values are not declared",
			pgerr.Hint(
				"Declare the values of the key in the policy, or compare with an aggregate over all rows: WHERE x > (SELECT avg(x) FROM t)."))
	}
	if n := k.Product().Len(); n > maxStageRows {
		return refusal.New(refusal.TooManyGroups, fmt.Sprintf(
			"rows are compared with aggregates of %d keys, and not more than %d may be", n, maxStageRows),
			pgerr.Hint("Compare with fewer or coarser keys, or narrow those of a public table in WHERE."))
	}
	return nil
}

// Stage cuts the query of a stage, once.
func (c *cutter) Stage(b *relation.Base, query *pg_query.SelectStmt) (*relation.Stage, error) {
	text, err := sqltree.Deparse(query)
	if err != nil {
		return nil, err
	}
	if s := c.stages[text]; s != nil {
		return s, nil
	}
	unique := uniqueOutputs(query)
	s := &relation.Stage{Unique: unique, Rows: maxStageRows}
	if unique != nil && len(unique) == 0 {
		s.Rows, s.Limited = 1, true
	} else if n := query.LimitCount.GetAConst().GetIval(); n != nil && n.Ival > 0 && n.Ival < maxStageRows &&
		query.LimitOption == pg_query.LimitOption_LIMIT_OPTION_COUNT {
		s.Rows, s.Limited = int64(n.Ival), true
	}
	if s.Columns, err = described(b, text); err != nil {
		return nil, err
	}
	t, err := c.cut(b, query, true)
	if err != nil {
		return nil, err
	}
	if len(c.Queries) == maxStages {
		return nil, refusal.New(refusal.TooComplex, fmt.Sprintf(
			"private rows are compared with more than %d queries over released values", maxStages),
			pgerr.Hint("Ask for some of them first, and write their values."))
	}
	s.Number = len(c.Queries)
	c.Queries, c.stages[text] = append(c.Queries, t), s
	return s, nil
}

// described asks what a stage's rows are like. A query that PostgreSQL does not take by itself reads a row outside.
func described(b *relation.Base, text string) ([]schema.ColumnDescription, error) {
	if b.Desc.Describe == nil {
		return nil, refusal.New(refusal.AgainstReleased,
			"private rows cannot be compared with an aggregate over private rows here")
	}
	columns, err := b.Desc.Describe(text)
	if err != nil {
		return nil, refusal.New(refusal.AgainstReleased,
			"this aggregate over private rows reads the row that it is compared with",
			pgerr.Hint(
				"Aggregate by itself: WHERE x > (SELECT avg(x) FROM t). Or tie them by nothing but equal keys: WHERE inner.key = outer.key."))
	}
	for _, c := range columns {
		if !relation.StageType(c.Type) {
			return nil, refusal.New(refusal.AgainstReleased, "private rows cannot be compared with released values of this type",
				pgerr.Hint("Cast it to a number, a text, a date or a boolean."))
		}
	}
	return columns, nil
}

// stagesOf finds the stages of a statement again, for a plan.
type stagesOf struct{ *Statement }

func (s stagesOf) Stage(_ *relation.Base, query *pg_query.SelectStmt) (*relation.Stage, error) {
	text, err := sqltree.Deparse(query)
	if err != nil {
		return nil, err
	}
	if found := s.stages[text]; found != nil {
		return found, nil
	}
	return nil, fmt.Errorf("the analysis of the statement has not met the query %q", text)
}

// Plan plans the blocks of an analysed statement for the values that b knows, by query.
func Plan(b *relation.Base, s *Statement) ([]*Planned, error) {
	var all []*Planned
	var before []*release.Block
	for _, t := range s.Queries {
		if err := t.checkExistence(b); err != nil {
			return nil, err
		}
		p := &Planned{Binder: bind.New(b, stagesOf{s}), before: before}
		p.Know(t.kinds)
		for _, l := range t.levels {
			src, err := p.Source(l.rows, l.env)
			if err != nil {
				return nil, err
			}
			if err := p.add(l, src, bind.NewScope(p.Binder, src, l.env)); err != nil {
				return nil, err
			}
		}
		if t.keyed {
			if err := p.checkKeys(); err != nil {
				return nil, err
			}
		}
		all, before = append(all, p), append(before, p.Blocks...)
	}
	return all, nil
}

// uniqueOutputs finds columns of a query's rows in which no two agree: of one row, none; of groups, their keys. nil:
// nothing is known.
func uniqueOutputs(s *pg_query.SelectStmt) []int {
	if s.Op != pg_query.SetOperation_SETOP_NONE {
		return nil
	}
	if slices.ContainsFunc(s.TargetList, func(n *pg_query.Node) bool { return returnsRows(n) }) {
		return nil
	}
	if n := s.LimitCount.GetAConst().GetIval(); n != nil && n.Ival == 1 &&
		s.LimitOption == pg_query.LimitOption_LIMIT_OPTION_COUNT || len(s.FromClause) == 0 && len(s.ValuesLists) == 0 ||
		len(s.GroupClause) == 0 && sqltree.Aggregates(s) {
		return []int{}
	}
	if len(s.GroupClause) > 0 {
		return groupOutputs(s)
	}
	return nil
}

// groupOutputs finds the outputs that are the keys of a plain GROUP BY, if all keys are outputs.
func groupOutputs(s *pg_query.SelectStmt) []int {
	var unique []int
	for _, g := range s.GroupClause {
		if g.GetGroupingSet() != nil {
			return nil
		}
		at := -1
		if n := g.GetAConst().GetIval(); n != nil {
			at = int(n.Ival) - 1
		}
		for i, t := range s.TargetList {
			if at < 0 && sameExpression(t.GetResTarget().GetVal(), g) {
				at = i
			}
		}
		if at < 0 || at >= len(s.TargetList) {
			return nil
		}
		unique = append(unique, at)
	}
	return unique
}

// sameExpression reports whether two expressions of one query level are the same. A column may be written with its
// table and without.
func sameExpression(a, b *pg_query.Node) bool {
	if sqltree.TreeKey(a) == sqltree.TreeKey(b) {
		return true
	}
	x, y := sqltree.StringList(a.GetColumnRef().GetFields()), sqltree.StringList(b.GetColumnRef().GetFields())
	return len(x) > 0 && len(y) > 0 && min(len(x), len(y)) == 1 && x[len(x)-1] == y[len(y)-1]
}

// returnsRows reports whether an output may make several rows of one. A function that is not known to does.
func returnsRows(n *pg_query.Node) bool {
	fields := n.GetResTarget().GetVal().GetColumnRef().GetFields()
	return len(fields) > 0 && fields[0].GetAStar() != nil || sqltree.AnyOutside(n, func(n *pg_query.Node) bool {
		f := n.GetFuncCall()
		return f != nil && slices.Contains(setReturning, sqltree.FunctionName(f))
	})
}

var setReturning = []string{
	"generate_series", "unnest", "generate_subscripts", "regexp_matches", "regexp_split_to_table", "string_to_table",
	"jsonb_array_elements", "json_array_elements",
}
