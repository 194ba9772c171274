package catalog

import (
	"fmt"
	"slices"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/dpproxy/dpproxy/internal/refusal"
)

// allowedNodes are the parse nodes that may occur at all. Each one that can name something (a relation, a function, an
// operator, a type) has a case in walk or node.
var allowedNodes = words(`
	SelectStmt ResTarget ColumnRef A_Star A_Const Integer Float Boolean String BitString ParamRef TypeCast TypeName
	A_Expr BoolExpr NullTest BooleanTest CaseExpr CaseWhen CoalesceExpr MinMaxExpr SubLink FuncCall NamedArgExpr
	SQLValueFunction CollateClause A_ArrayExpr A_Indirection A_Indices RowExpr List SortBy WindowDef GroupingSet
	GroupingFunc RangeVar RangeSubselect RangeFunction JoinExpr Alias WithClause CommonTableExpr CTESearchClause
	CTECycleClause`)

// scope is the chain of WITH names that a relation name may mean.
type scope struct {
	outer *scope
	names map[string]bool
}

func (s *scope) has(name string) bool {
	for ; s != nil; s = s.outer {
		if s.names[name] {
			return true
		}
	}
	return false
}

// walk visits a message and everything below it.
func (c *checker) walk(m protoreflect.Message, s *scope) error {
	switch x := m.Interface().(type) {
	case *pg_query.Node:
		return c.node(x, s)
	case *pg_query.SelectStmt:
		return c.selectStmt(x, s)
	case *pg_query.A_Expr:
		if err := c.operator(x.Name, x.Location); err != nil {
			return err
		}
	case *pg_query.SubLink:
		if err := c.operator(x.OperName, x.Location); err != nil {
			return err
		}
	case *pg_query.SortBy:
		if err := c.operator(x.UseOp, x.Location); err != nil {
			return err
		}
	case *pg_query.TypeName:
		if err := c.typeName(x); err != nil {
			return err
		}
	case *pg_query.TypeCast:
		return c.typeCast(x, s)
	case *pg_query.A_Indirection:
		if err := c.indirection(x); err != nil {
			return err
		}
	case *pg_query.CollateClause:
		if names := stringsOf(x.Collname); len(names) > 2 || len(names) == 2 && names[0] != "pg_catalog" &&
			!slices.Contains(c.in.Schemas, names[0]) {
			return c.refuse(refusal.CatalogObject, int(x.Location), "permission denied for collation "+strings.Join(names, "."),
				"Use a collation of pg_catalog.")
		}
	}
	if name := string(m.Descriptor().Name()); !allowedNodes[name] {
		return c.refused(m)
	}
	return c.children(m, s)
}

// children visits the message fields of m in their order.
func (c *checker) children(m protoreflect.Message, s *scope, except ...protoreflect.Name) error {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if f.Kind() != protoreflect.MessageKind || !m.Has(f) || slices.Contains(except, f.Name()) {
			continue
		}
		if f.IsList() {
			l := m.Get(f).List()
			for k := 0; k < l.Len(); k++ {
				if err := c.walk(l.Get(k).Message(), s); err != nil {
					return err
				}
			}
			continue
		}
		if err := c.walk(m.Get(f).Message(), s); err != nil {
			return err
		}
	}
	return nil
}

// node visits what a Node wraps. Nodes that an edit may replace are handled here, with the wrapper in hand.
func (c *checker) node(n *pg_query.Node, s *scope) error {
	switch x := n.Node.(type) {
	case nil:
		return nil
	case *pg_query.Node_RangeVar:
		return c.rangeVar(n, x.RangeVar, s)
	case *pg_query.Node_ColumnRef:
		return c.columnRef(n, x.ColumnRef)
	case *pg_query.Node_FuncCall:
		return c.funcCall(n, x.FuncCall, s)
	case *pg_query.Node_SqlvalueFunction:
		return c.valueFunction(n, x.SqlvalueFunction)
	case *pg_query.Node_RangeFunction:
		return c.rangeFunction(n, x.RangeFunction, s)
	}
	m := n.ProtoReflect()
	f := m.WhichOneof(m.Descriptor().Oneofs().Get(0))
	return c.walk(m.Get(f).Message(), s)
}

func (c *checker) selectStmt(x *pg_query.SelectStmt, s *scope) error {
	if x.IntoClause != nil {
		return c.refuse(refusal.ReadOnly, int(x.IntoClause.GetRel().GetLocation()), "permission denied to create tables",
			"Leave out INTO: dpproxy is read-only.")
	}
	if len(x.LockingClause) > 0 {
		return c.refuse(refusal.ReadOnly, firstLocation(x.LockingClause[0].ProtoReflect()), "permission denied to lock rows",
			"Leave out FOR UPDATE and FOR SHARE: dpproxy is read-only.")
	}
	if w := x.WithClause; w != nil {
		s = &scope{outer: s, names: map[string]bool{}}
		if w.Recursive {
			for _, n := range w.Ctes {
				s.names[n.GetCommonTableExpr().GetCtename()] = true
			}
		}
		for _, n := range w.Ctes {
			if err := c.walk(n.ProtoReflect(), s); err != nil {
				return err
			}
			if !w.Recursive {
				s = &scope{outer: s, names: map[string]bool{n.GetCommonTableExpr().GetCtename(): true}}
			}
		}
	}
	return c.children(x.ProtoReflect(), s, "with_clause")
}

// survey collects the functions in FROM before the walk, which meets the columns first, counts parameters, and
// looks for catalogs.
func (c *checker) survey(m protoreflect.Message) {
	switch x := m.Interface().(type) {
	case *pg_query.ParamRef:
		c.parameters = max(c.parameters, int(x.Number))
		c.parameterUses[int(x.Number)]++
	case *pg_query.ColumnRef:
		c.takesRow(x)
	case *pg_query.RangeVar:
		c.readsCatalogs = c.readsCatalogs || x.Schemaname == "pg_catalog" || strings.HasPrefix(x.Relname, "pg_")
	case *pg_query.SelectStmt:
		c.takesRows(x)
	case *pg_query.RangeFunction:
		columns := map[string]bool{}
		for _, n := range x.GetAlias().GetColnames() {
			columns[n.GetString_().GetSval()] = true
		}
		for _, n := range x.Coldeflist {
			columns[n.GetColumnDef().GetColname()] = true
		}
		for _, name := range functionNames(x) {
			c.addFunctionAlias(name, columns)
		}
	}
	below(m, c.survey)
}

// countParameters counts how often each parameter occurs.
func countParameters(m protoreflect.Message, uses map[int]int) {
	if x, ok := m.Interface().(*pg_query.ParamRef); ok {
		uses[int(x.Number)]++
	}
	below(m, func(m protoreflect.Message) { countParameters(m, uses) })
}

// below calls f for every message right below m.
func below(m protoreflect.Message, f func(protoreflect.Message)) {
	m.Range(func(d protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case d.Kind() != protoreflect.MessageKind:
		case d.IsList():
			for i := 0; i < v.List().Len(); i++ {
				f(v.List().Get(i).Message())
			}
		default:
			f(v.Message())
		}
		return true
	})
}

// functionNames returns the names under which a function in FROM may be referred to.
func functionNames(x *pg_query.RangeFunction) []string {
	if x.Alias != nil {
		return []string{x.Alias.Aliasname}
	}
	var out []string
	for _, l := range x.Functions {
		for _, item := range l.GetList().GetItems() {
			if names := stringsOf(item.GetFuncCall().GetFuncname()); len(names) > 0 {
				out = append(out, names[len(names)-1])
			}
		}
	}
	return out
}

// addFunctionAlias notes the columns of a function in FROM; a name that stands for two functions has those of both.
func (c *checker) addFunctionAlias(name string, columns map[string]bool) {
	known := map[string]bool{name: true}
	for k := range columns {
		if old := c.functionAliases[name]; old == nil || old[k] {
			known[k] = true
		}
	}
	c.functionAliases[name] = known
}

// refused names what a statement, or a part of one, is that may not occur.
func (c *checker) refused(m protoreflect.Message) error {
	if n, ok := m.Interface().(*pg_query.Node); ok {
		r := n.ProtoReflect()
		if f := r.WhichOneof(r.Descriptor().Oneofs().Get(0)); f != nil {
			m = r.Get(f).Message()
		}
	}
	kind, at := string(m.Descriptor().Name()), firstLocation(m)
	switch {
	case kind == "DoStmt" || kind == "CallStmt" || kind == "ExplainStmt":
		return c.refuse(refusal.Procedure, -1, fmt.Sprintf("%s is not supported",
			strings.ToUpper(strings.TrimSuffix(kind, "Stmt"))), "Only SELECT is answered.")
	case strings.HasSuffix(kind, "Stmt"):
		return c.refuse(refusal.ReadOnly, -1, "permission denied: dpproxy is read-only", "Only SELECT is answered.")
	case kind == "RangeTableSample":
		return c.refuse(refusal.Tablesample, at, "TABLESAMPLE is not supported", "Leave out TABLESAMPLE.")
	}
	if name := nodeNames[kind]; name != "" {
		kind = name
	}
	return c.refuse(refusal.CatalogForm, at, fmt.Sprintf("%s is not supported here", kind),
		"What catalog queries and queries of public tables may use is the topic introspection of dpproxy.help.")
}

// nodeNames gives the SQL words for the nodes that people are most likely to try.
var nodeNames = map[string]string{
	"XmlExpr": "XML", "XmlSerialize": "XML", "RangeTableFunc": "XMLTABLE", "JsonTable": "JSON_TABLE",
	"JsonFuncExpr":          "SQL/JSON",
	"JsonObjectConstructor": "SQL/JSON", "JsonArrayConstructor": "SQL/JSON", "JsonIsPredicate": "SQL/JSON",
	"CurrentOfExpr": "WHERE CURRENT OF",
}

// firstLocation finds where the text of a node begins; -1 if no node below it has a location.
func firstLocation(m protoreflect.Message) int {
	first := -1
	// CREATE TABLESPACE's location is a folder.
	if f := m.Descriptor().Fields().ByName("location"); f != nil && f.Kind() == protoreflect.Int32Kind &&
		m.Get(f).Int() >= 0 {
		first = int(m.Get(f).Int())
	}
	below(m, func(m protoreflect.Message) {
		if at := firstLocation(m); at > 0 && (first < 0 || at < first) {
			first = at
		}
	})
	return first
}

// words splits a list that is written as text.
func words(lists ...string) map[string]bool {
	m := map[string]bool{}
	for _, l := range lists {
		for _, w := range strings.Fields(l) {
			m[w] = true
		}
	}
	return m
}
