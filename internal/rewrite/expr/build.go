package expr

import (
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// maxDepth limits how deep expressions may nest. One level costs a few Go stack frames here and C frames in PostgreSQL.
const maxDepth = 400

// maxWeight limits how many nodes an expression may print: about 2 MB of SQL.
const maxWeight = 20000

// Scope resolves what an expression names.
type Scope interface {
	// Column resolves a column reference. fields are its parts, location is the byte offset in the parsed text.
	Column(fields []string, location int) (*Column, error)
	// Parameter gives the type of $n and, if known, its value in PostgreSQL's canonical text form; nil is NULL.
	Parameter(n int) (oid uint32, value *string, known bool)
	// Literal has PostgreSQL read a constant as the session would, and gives its value in canonical text form. What
	// depends on the clock ("today", "now") is the same everywhere in a statement, and is read anew for each statement. It
	// is not known before parameter values are.
	Literal(oid uint32, text string) (value string, known bool, err error)
	// Compute has PostgreSQL compute sql, of a type, which is what n means and reads no row, and gives its value in
	// canonical text form; nil is NULL. It is not known before parameter values are.
	Compute(n *pg_query.Node, oid uint32, sql query.Scalar) (value *string, known bool, err error)
	// DomainNamed finds a domain by its name, in a schema if one is written; nil: there is none.
	DomainNamed(schema, name string) *Domain
	// Prints says whether the session prints values of a type as main does, whose settings never change: dates as ISO,
	// intervals in PostgreSQL's own style.
	Prints(oid uint32) bool
	// SubLink answers a subquery expression (EXISTS, IN, ANY, ALL, scalar), usually with Predicate. test is the built
	// left-hand side of IN, ANY and ALL, several expressions if it is a row; nil for the others. It may refuse with
	// Refuse.
	SubLink(link *pg_query.SubLink, test []*Expr) (*Expr, error)
}

// Build types and proves one row-level expression. Errors are *Refusal, or what the Scope returned.
func Build(node *pg_query.Node, scope Scope) (*Expr, error) { return build(node, newBuilder(scope)) }

func build(node *pg_query.Node, b *builder) (*Expr, error) {
	e, err := b.expr(node)
	if err != nil {
		return nil, err
	}
	if e.typ == pgtype.UnknownOID { // select_common_type and output columns take unknown literals for text
		x, err := b.coerce(e, pgtype.TextOID, e)
		if err != nil {
			return nil, err
		}
		out := *x
		out.untyped = true
		return &out, nil
	}
	if e.isEnum() && e.value != nil && len(e.labels) == 0 {
		return nil, Refuse(refusal.Types, e.location, e.Text()+" is of a type that is not supported here",
			"compare it with a column of its type, or cast it to text")
	}
	if e.value != nil && e.value.items != nil || pgresolve.ElementType(e.typ) != nil && e.col == nil {
		return nil, Refuse(refusal.Array, e.location, "arrays are supported as operands of ANY and ALL only",
			"compare with = ANY (array)")
	}
	return e, nil
}

// BuildBoolean builds the condition of a WHERE, ON, HAVING or FILTER: it coerces the result to boolean.
func BuildBoolean(node *pg_query.Node, scope Scope) (*Expr, error) {
	return buildBoolean(node, newBuilder(scope))
}

func buildBoolean(node *pg_query.Node, b *builder) (*Expr, error) {
	e, err := b.expr(node)
	if err != nil {
		return nil, err
	}
	return b.boolean(e)
}

// mostBuilt limits how many nodes are built for one expression, however little of it is printed in the end: ranges
// write their bounds out several times each. That takes half a second.
const mostBuilt = 10 * maxWeight

// builder builds one expression.
type builder struct {
	scope   Scope
	rules   *ruleTable
	narrows []held // what holds in the CASE branch being built, outermost first
	depth   int
	built   *int // nodes so far, those of constants among them
	apart   bool // operands of a comparison are built: a quotient may be as large as its type holds

	reading *Reading // of columns with values beyond their bounds; nil: clamped

	typesOnly bool // nothing is proven: the expression will be a constant (see computed)
}

// newBuilder makes a builder that knows every rule.
func newBuilder(scope Scope) *builder {
	return &builder{scope: scope, rules: allRules, built: new(int)}
}

// expr builds any expression. Unknown literals keep the type unknown.
func (b *builder) expr(n *pg_query.Node) (*Expr, error) {
	if b.depth++; b.depth > maxDepth {
		return nil, Refuse(refusal.TooComplex, -1, fmt.Sprintf("expression nests deeper than %d levels", maxDepth), "")
	}
	defer func() { b.depth-- }()
	if *b.built++; *b.built > mostBuilt {
		return nil, tooLarge(n)
	}
	e, err := b.computed(n)
	if err == nil && e == nil {
		e, err = b.node(n)
	}
	if err != nil {
		return nil, err
	}
	if e.text == "" {
		e.text = describe(n)
	}
	if e.weigh() > maxWeight {
		return nil, tooLarge(n)
	}
	return e, nil
}

func tooLarge(n *pg_query.Node) error {
	return Refuse(refusal.TooComplex, locationOf(n), "the expression is too large once it is written out",
		"write it with fewer BETWEEN, IN and ranges inside each other")
}

// weigh counts the nodes that print, shared ones as often as they do: BETWEEN writes its operand twice, so thirty of
// them inside each other would print a thousand million times.
func (e *Expr) weigh() int {
	if e.weight == 0 {
		n := 1
		for _, a := range e.args {
			n = min(n+a.weigh(), 2*maxWeight)
		}
		e.weight = n
	}
	return e.weight
}

func (b *builder) node(n *pg_query.Node) (*Expr, error) {
	switch v := n.GetNode().(type) {
	case *pg_query.Node_AConst:
		return literal(v.AConst)
	case *pg_query.Node_ColumnRef:
		return b.columnRef(v.ColumnRef)
	case *pg_query.Node_ParamRef:
		return b.paramRef(v.ParamRef)
	case *pg_query.Node_AExpr:
		return b.aExpr(v.AExpr)
	case *pg_query.Node_BoolExpr:
		return b.boolExpr(v.BoolExpr)
	case *pg_query.Node_NullTest:
		return b.nullTest(v.NullTest)
	case *pg_query.Node_BooleanTest:
		return b.booleanTest(v.BooleanTest)
	case *pg_query.Node_CaseExpr:
		return b.caseExpr(v.CaseExpr)
	case *pg_query.Node_CoalesceExpr:
		return b.coalesce(v.CoalesceExpr)
	case *pg_query.Node_MinMaxExpr:
		return b.minMax(v.MinMaxExpr)
	case *pg_query.Node_TypeCast:
		return b.typeCast(v.TypeCast)
	case *pg_query.Node_FuncCall:
		return b.funcCall(v.FuncCall)
	case *pg_query.Node_CollateClause:
		return b.collate(v.CollateClause)
	case *pg_query.Node_SqlvalueFunction:
		return b.sqlValue(v.SqlvalueFunction)
	case *pg_query.Node_AArrayExpr:
		return b.arrayExpr(v.AArrayExpr)
	case *pg_query.Node_SubLink:
		return b.subLink(v.SubLink)
	}
	return nil, Refuse(refusal.Construct, locationOf(n), fmt.Sprintf("%s is not supported in a row-level expression",
		nodeName(n)), "")
}

// subLink hands subqueries to the scope.
func (b *builder) subLink(s *pg_query.SubLink) (*Expr, error) {
	var test []*Expr
	if s.Testexpr != nil {
		var err error
		if test, err = b.operand(s.Testexpr); err != nil {
			return nil, err
		}
	}
	x, err := b.scope.SubLink(s, test)
	if err != nil {
		return nil, err
	}
	return b.read(x), nil
}

func (b *builder) list(nodes []*pg_query.Node) ([]*Expr, error) {
	out := make([]*Expr, len(nodes))
	for i, n := range nodes {
		e, err := b.expr(n)
		if err != nil {
			return nil, err
		}
		out[i] = e
	}
	return out, nil
}
