package rewrite

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/bind"
	"github.com/dpproxy/dpproxy/internal/rewrite/catalog"
	"github.com/dpproxy/dpproxy/internal/rewrite/finish"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// Analysis is an analysed statement: cached by text, parameter types, policy version and session settings.
// Immutable and safe for concurrent use.
type Analysis struct {
	Route       schema.Route
	SQL         string               // what runs on the shadow or as public; empty for private statements
	Supplies    []catalog.Supply     // parameters that SQL has beyond the client's
	Assignments []catalog.Assignment // settings that set_config() calls in it change
	Clock       bool                 // SQL may mean something else at another time, where it is parsed at another
	// SQL is an EXPLAIN of a statement that would be refused, since it returns rows of private tables
	Refused string

	schema   *Schema
	settings Settings
	desc     schema.Description
	sql      string
	cut      *finish.Statement // private statements
	foreseen *relation.Foreseen
	named    relation.Names
}

// Analyze sorts a statement that the shadow has prepared, and refuses what will not be answered. For an EXPLAIN it
// analyses the statement inside. What depends on parameter values may still be refused by Plan. It stops where ctx
// ends.
func Analyze(ctx context.Context, s *Schema, st *sqltree.Statement, d schema.Description, settings Settings) (
	_ *Analysis, err error,
) {
	defer guarded(&err)
	explain := st.Explain()
	if x := explain; x != nil {
		if x.Analyze {
			return nil, refusal.New(refusal.ExplainAnalyze, "EXPLAIN ANALYZE would run the query",
				pgerr.Hint("EXPLAIN without ANALYZE is free and shows what the query would cost."))
		}
		st = x.Inner
	}
	a := &Analysis{schema: s, settings: settings, desc: d, sql: st.SQL}
	a.desc.Describe = nil // nobody is asked once the statement is analysed
	query := st.Node.GetSelectStmt()
	if query == nil || catalog.Empty(st.Node) || !mentionsPrivate(s, st.Node) {
		return a, a.open(st, a.catalogInput(), schema.RoutePublic)
	}
	if settings.Synthetic {
		return a.synthetic(st)
	}
	if sqltree.Mentions(st.Node, "dpproxy_block") {
		return nil, refusal.New(refusal.AnotherForm, "names that begin with dpproxy_block are reserved")
	}
	a.Route = schema.RoutePrivate
	a.named = names(s, st.Node)
	b := a.base(ctx)
	if err := sqltree.RefuseUnknown(b.Text, st.Node); err != nil {
		return nil, err
	}
	b.Desc.Describe = d.Describe
	query = sqltree.Clone(query)
	sqltree.DropLimits(query)
	a.cut, err = finish.Cut(b, query, a.catalogInput())
	a.foreseen = b.Foreseen
	if settings.SyntheticRows && refusal.OfRows(err) {
		return a.synthetic(st)
	}
	if explain != nil && !explain.JSON && refusal.Is(err, refusal.Rows) {
		return a.planned(st, err)
	}
	return a, err
}

// planned answers EXPLAIN of a statement that would return private rows by the plan that PostgreSQL makes of it on the
// shadow, which has none. Planning evaluates functions of constants, so the statement passes the checks of one that
// runs there.
func (a *Analysis) planned(st *sqltree.Statement, refused error) (*Analysis, error) {
	var why *pgconn.PgError
	errors.As(refused, &why)
	in := a.catalogInput()
	in.Planned = true
	r, err := catalog.Check(st.Node, st.SQL, in)
	if err != nil || len(r.Assignments) > 0 {
		return nil, refused
	}
	return &Analysis{
		Route: schema.RouteShadow, SQL: "EXPLAIN " + r.SQL, Supplies: r.Supplies, Clock: true, Refused: why.Message,
		schema: a.schema, settings: a.settings, desc: a.desc, sql: a.sql,
	}, nil
}

// Constants are what the shadow has to be asked with the values of the parameters, once for each Plan.
func (a *Analysis) Constants() schema.Constants {
	if a.foreseen == nil {
		return schema.Constants{}
	}
	return a.foreseen.Constants
}

// synthetic sends a statement to the twin, where private tables have rows that are nobody's: it may do there what it
// may do where it reads public tables. Views are expanded: the twin has tables alone.
func (a *Analysis) synthetic(st *sqltree.Statement) (*Analysis, error) {
	twin := &Analysis{schema: a.schema, settings: a.settings, desc: a.desc, sql: a.sql}
	in := a.catalogInput()
	in.Views = map[policy.Name]*pg_query.SelectStmt{}
	for _, v := range a.schema.Policy.Views {
		if query, err := bind.ViewQuery(a.schema.Relations[v]); err == nil { // else the twin has no such view
			in.Views[v] = query
		}
	}
	for _, t := range a.schema.Policy.Tables {
		in.Public[t.Name] = nil // it has the listed columns alone
	}
	in.Private = nil
	return twin, twin.open(st, in, schema.RouteSynthetic)
}

// open sends a statement to the shadow, or where the tables are that it may read.
func (a *Analysis) open(st *sqltree.Statement, in catalog.Input, tables schema.Route) error {
	in.Chance = tables == schema.RouteSynthetic
	r, err := catalog.Check(st.Node, st.SQL, in)
	if err != nil {
		return err
	}
	a.Route = schema.RouteShadow
	if r.Route == catalog.Public {
		a.Route = tables
	}
	a.SQL, a.Supplies, a.Assignments, a.Clock = r.SQL, r.Supplies, r.Assignments, sqltree.ReadsClock(st.Node)
	return nil
}

// catalogInput tells package catalog what the policy lists.
func (a *Analysis) catalogInput() catalog.Input {
	in := catalog.Input{
		Public: map[policy.Name][]string{}, Private: map[policy.Name]bool{}, Types: map[policy.Name]bool{},
		User: a.settings.User, Database: a.settings.Database, Databases: a.schema.Databases,
		Parameters: len(a.desc.ParameterTypes), ParameterTypes: a.desc.ParameterTypes,
		Schemas: a.schema.Policy.Schemas(),
	}
	for _, t := range a.schema.Policy.Tables {
		if !t.Public {
			in.Private[t.Name] = true
			continue
		}
		in.Public[t.Name] = columnNames(t)
	}
	for _, v := range a.schema.Policy.Views {
		in.Private[v] = true
	}
	for _, t := range a.schema.Types {
		in.Types[policy.Name{Schema: t.Schema, Relation: t.Name}] = true
	}
	return in
}

// columnNames are the listed columns of a table; nil: all.
func columnNames(t *policy.Table) (names []string) {
	for _, c := range t.Columns {
		names = append(names, c.Name)
	}
	return names
}

// base begins a planning of the statement.
func (a *Analysis) base(ctx context.Context) *relation.Base {
	b := relation.New(a.schema, a.settings, a.desc, a.sql, a.foreseen)
	b.Steps, b.Named = sqltree.NewSteps(ctx), a.named
	return b
}

// names collects those in a statement and in the views that it reads; nil where it may read columns without naming
// them.
func names(s *Schema, n *pg_query.Node) relation.Names {
	b, all, seen := relation.New(s, Settings{}, schema.Description{}, "", nil), relation.Names{}, map[policy.Name]bool{}
	var add func(n *pg_query.Node) bool
	add = func(n *pg_query.Node) bool {
		return all.Add(n, func(v *pg_query.RangeVar) bool {
			w := b.View(&pg_query.RangeVar{Schemaname: v.Schemaname, Relname: v.Relname})
			if w == nil || seen[w.Name] {
				return true
			}
			seen[w.Name] = true
			query, err := bind.ViewQuery(w)
			return err == nil && add(sqltree.SelectNode(query))
		})
	}
	if !add(n) {
		return nil
	}
	return all
}

// mentionsPrivate reports whether a statement names a private table or a view of the policy anywhere: whatever the
// analysis would make of it, such a statement never runs as it was written.
func mentionsPrivate(s *Schema, n *pg_query.Node) bool {
	b := relation.New(s, Settings{}, schema.Description{}, "", nil)
	return sqltree.Any(n, func(n *pg_query.Node) bool {
		v := n.GetRangeVar()
		if v == nil {
			return false
		}
		named := &pg_query.RangeVar{Schemaname: v.Schemaname, Relname: v.Relname}
		t := b.Table(named)
		return t != nil && !t.Public || b.View(named) != nil
	})
}
