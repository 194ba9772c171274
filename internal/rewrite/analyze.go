package rewrite

import (
	"crypto/sha256"
	"encoding/binary"
	"log/slog"
	"runtime/debug"
	"strconv"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite/catalog"
)

// Analysis is an analysed statement: cached by text, parameter types, policy version and session settings (PRIVACY 25).
// Immutable and safe for concurrent use.
type Analysis struct {
	Route       Route
	SQL         string               // what runs on the shadow or as public; empty for private statements
	Supplies    []catalog.Supply     // parameters that SQL has beyond the client's
	Assignments []catalog.Assignment // settings that set_config() calls in it change

	schema   *Schema
	settings Settings
	desc     Description
	sql      string
	query    *pg_query.SelectStmt // private statements
	template *template
}

// Analyze sorts a statement that the shadow has prepared, and refuses what will not be answered. For an EXPLAIN it
// analyses the statement inside. What depends on parameter values may still be refused by Plan.
func Analyze(s *Schema, st *Statement, d Description, settings Settings) (_ *Analysis, err error) {
	defer guarded(&err)
	if x := st.Explain(); x != nil {
		if x.Analyze {
			return nil, pgerr.New(pgerr.FeatureNotSupported, "EXPLAIN ANALYZE would run the query", pgerr.Hint("EXPLAIN without ANALYZE is free and shows what the query would cost."))
		}
		st = x.Inner
	}
	a := &Analysis{schema: s, settings: settings, desc: d, sql: st.SQL}
	query := st.Node.GetSelectStmt()
	if query == nil || catalog.Empty(st.Node) || !mentionsPrivate(s, st.Node) {
		return a, a.open(st)
	}
	if strings.Contains(strings.ToLower(st.SQL), "dpproxy_block") {
		return nil, pgerr.New(pgerr.FeatureNotSupported, "names that begin with dpproxy_block are reserved")
	}
	a.Route, a.query, a.template = RoutePrivate, query, &template{}
	b := a.builder()
	if err := b.refuseUnknown(st.Node); err != nil {
		return nil, err
	}
	if err := b.finishQuery(clone(query), nil); err != nil {
		return nil, b.refusal(err)
	}
	return a, nil
}

// guarded turns a fault of the analysis into a refusal: a client's text must never end the process.
func guarded(err *error) {
	if fault := recover(); fault != nil {
		slog.Error("the analysis of a statement failed", "fault", fault, "stack", string(debug.Stack()))
		*err = pgerr.New(pgerr.InternalError, "the statement could not be analysed", pgerr.Hint("This is a fault of dpproxy; its log has the details. Write the query in another form."))
	}
}

// open sends a statement without private relations to the shadow or to public.
func (a *Analysis) open(st *Statement) error {
	r, err := catalog.Check(st.Node, st.SQL, a.catalogInput())
	if err != nil {
		return err
	}
	a.Route = RouteShadow
	if r.Route == catalog.Public {
		a.Route = RoutePublic
	}
	a.SQL, a.Supplies, a.Assignments = r.SQL, r.Supplies, r.Assignments
	return nil
}

// catalogInput tells the catalog room what the policy lists.
func (a *Analysis) catalogInput() catalog.Input {
	in := catalog.Input{
		Public: map[policy.Name][]string{}, Private: map[policy.Name]bool{}, Types: map[policy.Name]bool{},
		User: a.settings.User, Database: a.settings.Database, Parameters: len(a.desc.ParameterTypes), ParameterTypes: a.desc.ParameterTypes,
		Schemas: a.schema.Policy.Schemas(),
	}
	for _, t := range a.schema.Policy.Tables {
		if !t.Public {
			in.Private[t.Name] = true
			continue
		}
		var columns []string
		for _, c := range t.Columns {
			columns = append(columns, c.Name)
		}
		in.Public[t.Name] = columns
	}
	for _, v := range a.schema.Policy.Views {
		in.Private[v] = true
	}
	for _, t := range a.schema.Types {
		in.Types[policy.Name{Schema: t.Schema, Relation: t.Name}] = true
	}
	return in
}

func (a *Analysis) builder() *builder {
	return &builder{schema: a.schema, settings: a.settings, desc: a.desc, sql: a.sql, work: new(int), begun: &begun{}, kinds: map[kindKey]kind{}, literals: map[literalKey]Canonical{}}
}

// mentionsPrivate says whether a statement names a private table or a view of the policy anywhere: whatever the analysis
// would make of it, such a statement never runs as it was written.
func mentionsPrivate(s *Schema, n *pg_query.Node) bool {
	b := &builder{schema: s}
	found := false
	visit(n, func(n *pg_query.Node) bool {
		if v := n.GetRangeVar(); v != nil {
			named := &pg_query.RangeVar{Schemaname: v.Schemaname, Relname: v.Relname}
			if t := b.table(named); t != nil && !t.Public || b.view(named) != nil {
				found = true
			}
		}
		return !found
	})
	return found
}

// Explain takes an EXPLAIN apart; nil for any other statement.
func (st *Statement) Explain() *Explain {
	e := st.Node.GetExplainStmt()
	if e == nil {
		return nil
	}
	x := &Explain{Inner: &Statement{Node: e.Query}}
	for _, o := range e.Options {
		d := o.GetDefElem()
		value := strings.ToLower(d.GetArg().GetString_().GetSval())
		switch d.Defname {
		case "analyze":
			x.Analyze = value != "false" && value != "off" && (d.Arg == nil || d.Arg.GetInteger() == nil || d.Arg.GetInteger().Ival != 0)
		case "format":
			x.JSON = value == "json"
		}
	}
	// The inner statement's text begins at its first keyword outside the options' parentheses; its locations are made
	// to count from there by parsing it again.
	at := innerStart(st.SQL)
	inner, err := Parse(st.SQL[at:], len(st.SQL))
	if err != nil || len(inner) != 1 {
		x.Inner.SQL = st.SQL
		return x
	}
	x.Inner = inner[0]
	x.Inner.Offset = st.Offset + len([]rune(st.SQL[:at]))
	return x
}

// innerStart finds where the statement inside an EXPLAIN begins.
func innerStart(sql string) int {
	scan, err := pg_query.Scan(sql)
	if err != nil {
		return 0
	}
	depth, seen := 0, false
	for i, t := range scan.Tokens {
		switch t.Token {
		case pg_query.Token_SQL_COMMENT, pg_query.Token_C_COMMENT:
			continue
		case pg_query.Token_EXPLAIN:
			if !seen {
				seen = true
				continue
			}
		case pg_query.Token_ASCII_40:
			if depth > 0 || optionList(scan.Tokens, i) {
				depth++
				continue
			}
		case pg_query.Token_ASCII_41:
			depth--
			continue
		case pg_query.Token_ANALYZE, pg_query.Token_VERBOSE, pg_query.Token_ANALYSE:
			continue
		}
		if depth == 0 {
			return int(t.Start)
		}
	}
	return 0
}

// optionList tells EXPLAIN (options) from EXPLAIN (SELECT …).
func optionList(tokens []*pg_query.ScanToken, open int) bool {
	if open != 1 || len(tokens) < 3 {
		return false
	}
	switch tokens[open+1].Token {
	case pg_query.Token_SELECT, pg_query.Token_WITH, pg_query.Token_VALUES, pg_query.Token_TABLE, pg_query.Token_ASCII_40:
		return false
	}
	return true
}

// hashSeed derives the seed of group selection from the proxy's secret.
func (b *builder) hashSeed() Canonical {
	sum := sha256.Sum256([]byte("dpproxy group selection\x00" + b.opts.HashKey))
	return Canonical(strconv.FormatInt(int64(binary.BigEndian.Uint64(sum[:8])), 10))
}
