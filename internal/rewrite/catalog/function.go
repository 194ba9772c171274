package catalog

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltext"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// funcCall checks a function and edits it: qualified, or replaced by a constant.
func (c *checker) funcCall(n *pg_query.Node, f *pg_query.FuncCall, s *scope) error {
	names := stringsOf(f.Funcname)
	if len(names) == 3 && names[0] == c.in.Database || len(names) == 0 || len(names) > 3 {
		return errNotEditable()
	}
	schema, name := "pg_catalog", names[len(names)-1]
	if len(names) > 1 {
		schema = strings.Join(names[:len(names)-1], ".")
	}
	if err := c.arguments(schema, name, f, s); err != nil {
		return err
	}
	if schema == "pg_catalog" {
		if expr, ok, err := c.substituteFor(name, f); err != nil {
			return err
		} else if ok {
			return c.substituteCall(n, f, expr)
		}
		switch name {
		case "current_setting":
			c.usesCatalog(int(f.Location), "function current_setting()")
			return c.settingByName(n, f)
		case "pg_get_userbyid":
			c.usesCatalog(int(f.Location), "function pg_get_userbyid()")
			return c.userByID(n, f)
		}
	}
	if err := c.allowed(schema, name, f); err != nil {
		return err
	}
	if len(names) > 1 || name == "unnest" && len(f.Args) > 1 {
		return nil // unnest(a, b) in FROM is syntax, which means pg_catalog.unnest(a), pg_catalog.unnest(b)
	}
	f.Funcname = append([]*pg_query.Node{pg_query.MakeStrNode("pg_catalog")}, f.Funcname...)
	return nil
}

// allowed is the allow-list of functions.
func (c *checker) allowed(schema, name string, f *pg_query.FuncCall) error {
	at := int(f.Location)
	switch {
	case schema == "pg_catalog" && pureFunctions[name]:
		return c.bounded(name, f)
	case schema == "pg_catalog" && c.in.Chance && chanceFunctions[name]:
		return nil
	case schema == "pg_catalog" && catalogFunctions[name],
		schema == "information_schema" && informationFunctions[name]:
		c.usesCatalog(at, "function "+name+"()")
		return nil
	case schema == ownSchema:
		return c.refuse(refusal.NeedsAggregate, at, fmt.Sprintf("%s.%s needs a released aggregate", schema, name),
			"Its argument is one aggregate of a query over private rows, as in SELECT avg(age), dpproxy.interval_low(avg(age)) FROM patients, "+
				"or a sum of such groups in the order of keys: sum(n) OVER (ORDER BY month).")
	}
	return c.functionDenied(at, name)
}

func (c *checker) functionDenied(at int, name string) error {
	return c.refuse(refusal.CatalogObject, at, "permission denied for function "+name,
		"Functions that act, or that read anything but their arguments, are refused; the topic introspection of dpproxy.help has the list of what is allowed.")
}

// arguments visits what a call holds. In the arguments of privilege functions the current user stays the role that runs
// them: PostgreSQL does not know the analyst.
func (c *checker) arguments(schema, name string, f *pg_query.FuncCall, s *scope) error {
	if schema != "pg_catalog" || !privilegeFunctions[name] {
		return c.children(f.ProtoReflect(), s, "funcname")
	}
	if f.Over != nil || f.AggFilter != nil || len(f.AggOrder) > 0 {
		return c.functionDenied(int(f.Location), name)
	}
	withUser := 3 // has_table_privilege(user, table, privilege), pg_has_role(user, role, privilege)
	if name == "has_column_privilege" {
		withUser = 4
	}
	for i, arg := range f.Args {
		var err error
		if i == 0 && len(f.Args) == withUser && c.namesUser(arg) {
			err = become(arg, "current_user")
		} else {
			err = c.walk(arg.ProtoReflect(), s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// namesUser reports whether an argument is the client's user, by function or by name.
func (c *checker) namesUser(n *pg_query.Node) bool {
	if v := n.GetSqlvalueFunction(); v != nil {
		return userFunction(v.Op)
	}
	name, ok := constantString(n)
	return ok && name == c.in.User && n.GetAConst() != nil
}

// substituteCall puts an expression where a call stands.
func (c *checker) substituteCall(n *pg_query.Node, f *pg_query.FuncCall, expr string) error {
	if !plainCall(f) {
		return errNotEditable()
	}
	return c.substituteExpr(n, expr)
}

// plainCall reports whether a call is a name and arguments, and nothing that an expression in its place would drop.
func plainCall(f *pg_query.FuncCall) bool {
	return f.Over == nil && f.AggFilter == nil && len(f.AggOrder) == 0 && !f.AggWithinGroup && !f.AggDistinct &&
		!f.AggStar && !f.FuncVariadic
}

// substituteExpr writes a scalar subquery: its column gives the result the name that PostgreSQL would have given it.
// Parameters that occur nowhere else stay in it: PostgreSQL has to find each number that the client binds.
func (c *checker) substituteExpr(n *pg_query.Node, expr string) error {
	text := "(SELECT " + expr + " AS " + sqltext.Ident(sqltree.OutputName(&pg_query.ResTarget{Val: n}))
	if only := c.onlyHere(n); len(only) > 0 {
		text += " FROM (SELECT " + strings.Join(only, ", ") + ") AS unused"
	}
	return become(n, text+")")
}

// onlyHere lists the parameters that occur in n and nowhere else in the statement.
func (c *checker) onlyHere(n *pg_query.Node) []string {
	here := map[int]int{}
	countParameters(n.ProtoReflect(), here)
	var out []string
	for number, uses := range here {
		if c.parameterUses[number] == uses {
			out = append(out, "$"+strconv.Itoa(number))
		}
	}
	sort.Strings(out)
	return out
}

// wrap puts a scalar subquery around the first argument of a call, in the call's place: before + argument + after. The
// argument stands in a CAST, alone in the SELECT list of the only subquery in FROM.
func wrap(n *pg_query.Node, f *pg_query.FuncCall, before, after string) error {
	if !plainCall(f) || len(f.Args) == 0 {
		return errNotEditable()
	}
	if err := become(n, before+"NULL"+after); err != nil {
		return err
	}
	inner := n.GetSubLink().GetSubselect().GetSelectStmt().FromClause[0].GetRangeSubselect().Subquery.GetSelectStmt()
	inner.TargetList[0].GetResTarget().Val.GetTypeCast().Arg = f.Args[0]
	return nil
}

// userByID names the roles that pg_roles shows, and says of others what PostgreSQL says of roles that do not exist.
func (c *checker) userByID(n *pg_query.Node, f *pg_query.FuncCall) error {
	return wrap(n, f, "(SELECT CASE WHEN pg_catalog.pg_get_userbyid(n.n) = current_user THEN "+nameLiteral(c.in.User)+
		" WHEN EXISTS (SELECT 1 FROM pg_catalog.pg_class AS o WHERE o.relowner = n.n) OR EXISTS (SELECT 1 FROM pg_catalog.pg_namespace AS o WHERE o.nspowner = n.n)"+
		" OR EXISTS (SELECT 1 FROM pg_catalog.pg_database AS o WHERE o.datdba = n.n AND o.datname = pg_catalog.current_database())"+
		" THEN pg_catalog.pg_get_userbyid(n.n) ELSE ('unknown (OID=' || n.n || ')')::pg_catalog.name END AS pg_get_userbyid FROM (SELECT CAST(", " AS pg_catalog.oid)) AS n(n))")
}

// rangeFunction checks functions in FROM. One that is replaced becomes a subquery with one column.
func (c *checker) rangeFunction(n *pg_query.Node, r *pg_query.RangeFunction, s *scope) error {
	if len(r.Functions) != 1 || r.IsRowsfrom || len(r.Functions[0].GetList().GetItems()) == 0 {
		return c.children(r.ProtoReflect(), s)
	}
	call := r.Functions[0].GetList().Items[0]
	if err := c.walk(call.ProtoReflect(), s); err != nil {
		return err
	}
	for _, d := range r.Coldeflist {
		if err := c.walk(d.GetColumnDef().GetTypeName().ProtoReflect(), s); err != nil {
			return err
		}
	}
	sub := call.GetSubLink()
	if sub == nil {
		return nil
	}
	if r.Ordinality || len(r.Coldeflist) > 0 {
		return errNotEditable()
	}
	target := sub.Subselect.GetSelectStmt().TargetList[0].GetResTarget()
	from := &pg_query.RangeSubselect{Lateral: r.Lateral, Subquery: sub.Subselect, Alias: r.Alias}
	if r.Alias == nil {
		from.Alias = &pg_query.Alias{Aliasname: target.Name}
	} else if len(r.Alias.Colnames) == 0 {
		target.Name = r.Alias.Aliasname
	}
	n.Node = &pg_query.Node_RangeSubselect{RangeSubselect: from}
	return nil
}
