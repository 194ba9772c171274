package aggregate

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// Scope builds the expressions of a query level.
type Scope interface {
	Expression(n *pg_query.Node) (*expr.Expr, error)
	Condition(n *pg_query.Node) (*expr.Expr, error)
	// Bounded builds an expression that is wanted with bounds.
	Bounded(n *pg_query.Node) (*expr.Expr, error)
}

// Call is an aggregate call with its type, and its arguments as bounded expressions.
type Call struct {
	Name       string // canonical: every → bool_and, variance → var_samp, stddev → stddev_samp
	Text       string // as the analyst would call it
	Args       []*expr.Expr
	Row        []*expr.Expr // of count(DISTINCT (a, b)), which has no other arguments
	Filter     *expr.Expr   // nil: none
	Distinct   bool
	By         *expr.Expr // of a symmetric aggregate: the argument counts once for each value of this; nil: none
	Star       bool
	Fractions  []float64
	Array      bool // percentile of an array of fractions
	Descending bool
	Type       uint32
	Location   int
	Zero       bool // a sum of ELSE 0: over no row that counts it is 0, not NULL
	Mode       *Mode
	Ends       []Derived // of its interval: those that are asked for
}

// OutOfBounds lists the columns of which the call may count with the nearest bound in place of a value. A count of
// values counts what is there.
func (c *Call) OutOfBounds() (out []expr.OutOfBounds) {
	for _, x := range c.Args {
		if column := x.Column(); c.Name != "count" || c.Distinct && (column == nil || column.Enforced) {
			out = expr.MergeOutOfBounds(out, x.OutOfBounds())
		}
	}
	return out
}

var synonyms = map[string]string{"every": "bool_and", "variance": "var_samp", "stddev": "stddev_samp"}

// valueAggregates return values of rows, as all do that make JSON.
var valueAggregates = map[string]bool{
	"array_agg": true, "string_agg": true, "mode": true, "xmlagg": true, "any_value": true, "range_agg": true,
	"range_intersect_agg": true,
}

// ReturnsValues refuses an aggregate of private rows that returns values of them; nil: the call is of another function.
func ReturnsValues(b *relation.Base, f *pg_query.FuncCall) error {
	name := sqltree.FunctionName(f)
	if json := strings.HasPrefix(name, "json") && sqltree.AggregateNames[name]; !json && !valueAggregates[name] {
		return nil
	}
	return b.Refuse(refusal.ReturnsValues, &pg_query.Node{Node: &pg_query.Node_FuncCall{FuncCall: f}},
		name+" returns values of private rows", "Use count, sum, avg, min, max or a percentile.")
}

// NewUnitCall types an aggregate call over the rows of sc, as it is written.
func NewUnitCall(b *relation.Base, f *pg_query.FuncCall, sc Scope) (*Call, error) {
	if x, key := sqltree.ByKey(f); x != nil {
		return newSymmetric(b, f, x, key, sc)
	}
	node := &pg_query.Node{Node: &pg_query.Node_FuncCall{FuncCall: f}}
	c := &Call{Name: sqltree.FunctionName(f), Distinct: f.AggDistinct, Star: f.AggStar, Location: int(f.Location)}
	if s := synonyms[c.Name]; s != "" {
		c.Name = s
	}
	if err := checkForm(b, c, f, node); err != nil {
		return nil, err
	}
	args := f.Args
	if f.AggWithinGroup {
		if err := readFractions(b, c, f, node, sc); err != nil {
			return nil, err
		}
		args = []*pg_query.Node{f.AggOrder[0].GetSortBy().Node}
	}
	build := sc.Bounded
	if c.Name == "count" {
		build = sc.Expression
	}
	for _, a := range args {
		x, err := build(a)
		if err != nil {
			return nil, err
		}
		c.Args = append(c.Args, x)
	}
	if want := argumentCount(c); len(c.Args) != want {
		return nil, b.Refuse(refusal.Aggregate, node, fmt.Sprintf("%s takes %d arguments", c.Name, want), "")
	}
	if f.AggFilter != nil {
		x, err := sc.Condition(f.AggFilter)
		if err != nil {
			return nil, err
		}
		c.Filter = x
	}
	c.Text = callText(c)
	return c, setType(b, c, node)
}

// checkForm refuses aggregates that return values of rows, unknown ones, and forms of a call that the package does not
// read.
func checkForm(b *relation.Base, c *Call, f *pg_query.FuncCall, node *pg_query.Node) error {
	if err := ReturnsValues(b, f); err != nil {
		return err
	}
	switch {
	case !sqltree.AggregateNames[c.Name]:
		return b.Refuse(refusal.Aggregate, node, fmt.Sprintf("aggregate %s is not supported", sqltree.FunctionName(f)), "")
	case c.Star && c.Name != "count":
		return b.Refuse(refusal.AggregateForm, node, c.Name+"(*) must be used to call a parameterless aggregate function", "")
	case f.FuncVariadic:
		return b.Refuse(refusal.AggregateForm, node, "VARIADIC is not supported", "")
	case len(f.AggOrder) > 0 && !f.AggWithinGroup && c.Name != "count" && c.Name != "sum" && c.Name != "avg":
		return b.Refuse(refusal.AggregateForm, node, "ORDER BY inside an aggregate is not supported", "")
	}
	return nil
}

// callText prints a call as the analyst would write it.
func callText(c *Call) string {
	if c.Star || len(c.Args) == 0 {
		return c.Name + "(*)"
	}
	texts := make([]string, len(c.Args))
	for i, x := range c.Args {
		texts[i] = x.Text()
	}
	if c.Distinct {
		return c.Name + "(DISTINCT " + texts[0] + ")"
	}
	return c.Name + "(" + strings.Join(texts, ", ") + ")"
}

// argumentCount counts the aggregated arguments that a call has to have.
func argumentCount(c *Call) int {
	switch {
	case c.Star:
		return 0
	case c.Name == "corr" || strings.HasPrefix(c.Name, "covar") || strings.HasPrefix(c.Name, "regr"):
		return 2
	}
	return 1
}

// readFractions reads the direct argument of percentile_cont and percentile_disc: a constant or parameter in [0,1].
func readFractions(b *relation.Base, c *Call, f *pg_query.FuncCall, node *pg_query.Node, sc Scope) error {
	if c.Name != "percentile_cont" && c.Name != "percentile_disc" || len(f.Args) != 1 || len(f.AggOrder) != 1 {
		return b.Refuse(refusal.Aggregate, node, fmt.Sprintf("aggregate %s is not supported", c.Name), "")
	}
	c.Descending = f.AggOrder[0].GetSortBy().SortbyDir == pg_query.SortByDir_SORTBY_DESC
	values, array, err := constantNumbers(b, sc, f.Args[0])
	if err != nil {
		return err
	}
	c.Array = array
	for _, v := range values {
		q, _ := v.Float64()
		if q < 0 || q > 1 {
			return b.Error(pgerr.InvalidParameterValue, node, "percentile value is not between 0 and 1", "")
		}
		c.Fractions = append(c.Fractions, q)
	}
	return nil
}

// constantNumbers reads a number, an ARRAY[…] of numbers, or an array literal.
func constantNumbers(b *relation.Base, sc Scope, n *pg_query.Node) ([]*big.Rat, bool, error) {
	if a := n.GetAArrayExpr(); a != nil {
		var out []*big.Rat
		for _, e := range a.Elements {
			v, _, err := constantNumbers(b, sc, e)
			if err != nil {
				return nil, true, err
			}
			out = append(out, v...)
		}
		return out, true, nil
	}
	x, err := sc.Expression(n)
	if err != nil {
		return nil, false, err
	}
	if v, ok := x.Constant(); ok && v != nil {
		if r, ok := new(big.Rat).SetString(*v); ok {
			return []*big.Rat{r}, false, nil
		}
	}
	if bounds := x.Bounds(); bounds.Finite() && bounds.Lo.Cmp(bounds.Hi) == 0 {
		return []*big.Rat{bounds.Lo}, false, nil
	}
	if x.Provisional() {
		return []*big.Rat{big.NewRat(1, 2)}, false, nil
	}
	return nil, false, b.Refuse(refusal.ConstantNeeded, n, "the fraction of a percentile must be a constant", "")
}

// setType gives a call the result type that PostgreSQL gives it, and refuses arguments that the aggregate does not
// take.
func setType(b *relation.Base, c *Call, node *pg_query.Node) error {
	if c.Type = resultType(c); c.Type == 0 {
		return b.Refuse(refusal.Aggregate, node, fmt.Sprintf("aggregate %s is not supported for this type", c.Text), "")
	}
	if c.Distinct && !distinctNumbers[c.Name] && c.Name != "count" && c.Name != "min" && c.Name != "max" &&
		c.Name != "bool_and" && c.Name != "bool_or" {
		return b.Refuse(refusal.AggregateForm, node, fmt.Sprintf("%s with DISTINCT is not supported", c.Name),
			"Use count, sum, avg or a variance with DISTINCT.")
	}
	return nil
}

// Values is the expression of which each value counts once; nil: each row does.
func (c *Call) Values() *expr.Expr {
	if c.Distinct {
		return c.Args[0]
	}
	return c.By
}

// Rows prints which rows an aggregate of numbers reads: where the filter holds, and no argument is NULL.
func (c *Call) Rows() query.Scalar {
	var guards []query.Scalar
	for _, x := range c.Args {
		guards = append(guards, NotNull(x))
	}
	if c.By != nil {
		guards = append(guards, NotNull(c.By))
	}
	return c.Condition(guards...)
}

// None prints what a sum is over no rows.
func (c *Call) None() query.Scalar {
	if c.Zero {
		return query.Raw("0")
	}
	return query.Raw("NULL")
}

// Scaled prints the value of a symmetric aggregate, which counts millionths.
func (c *Call) Scaled(x query.Scalar) query.Scalar {
	if c.By == nil {
		return x
	}
	return query.F("({} * {})", x, int64(sqltree.Millionths))
}

// distinctNumbers are aggregates of numbers that DISTINCT changes.
var distinctNumbers = map[string]bool{
	"sum": true, "avg": true, "var_pop": true, "var_samp": true, "stddev_pop": true,
	"stddev_samp": true,
}

// resultType returns the type of an aggregate over its first argument's type; 0 where there is no such aggregate.
func resultType(c *Call) uint32 {
	var t uint32
	if len(c.Args) > 0 {
		t = BaseType(c.Args[0])
	}
	exact := pgresolve.IsInt(t) || t == pgtype.NumericOID
	switch c.Name {
	case "count", "regr_count":
		return pgtype.Int8OID
	case "sum":
		switch {
		case t == pgtype.Int2OID || t == pgtype.Int4OID:
			return pgtype.Int8OID
		case t == pgtype.Int8OID || t == pgtype.NumericOID:
			return pgtype.NumericOID
		case pgresolve.IsFloat(t) || t == pgtype.IntervalOID:
			return t
		}
	case "avg", "var_pop", "var_samp", "stddev_pop", "stddev_samp":
		switch {
		case exact:
			return pgtype.NumericOID
		case pgresolve.IsFloat(t):
			return pgtype.Float8OID
		case t == pgtype.IntervalOID && c.Name == "avg":
			return t
		}
	case "corr", "covar_pop", "covar_samp", "regr_slope", "regr_intercept", "regr_r2", "regr_avgx", "regr_avgy":
		if len(c.Args) == 2 && (exact || pgresolve.IsFloat(t)) && pgresolve.IsNumber(BaseType(c.Args[1])) {
			return pgtype.Float8OID
		}
	case "bool_and", "bool_or":
		if t == pgtype.BoolOID {
			return t
		}
	default:
		return orderedType(c, t)
	}
	return 0
}

// orderedType returns the result type of an aggregate that orders its argument.
func orderedType(c *Call, t uint32) uint32 {
	switch c.Name {
	case "min", "max", "percentile_disc":
		switch {
		case t == pgtype.VarcharOID && c.Name != "percentile_disc":
			return pgtype.TextOID
		case pgresolve.IsNumber(t) || t == pgtype.DateOID || pgresolve.IsTime(t) || pgresolve.IsText(t) ||
			t == pgtype.BPCharOID || len(c.Args[0].AsColumn(nil, "").EnumLabels) > 0:
			return t
		}
	case "percentile_cont":
		switch {
		case pgresolve.IsNumber(t):
			return pgtype.Float8OID
		case t == pgtype.IntervalOID:
			return t
		}
	}
	return 0
}

// BaseType gives an expression's type; of a domain, the type that it is over.
func BaseType(e *expr.Expr) uint32 {
	if c := e.Column(); c != nil && c.Base != 0 {
		return c.Base
	}
	return e.Type()
}

// Condition prints when a row counts: where the filter and every given guard hold; nil where every row does.
func (c *Call) Condition(guards ...query.Scalar) query.Scalar {
	var all []query.Scalar
	if c.Filter != nil {
		all = append(all, c.Filter.SQL())
	}
	for _, g := range guards {
		if g != nil {
			all = append(all, g)
		}
	}
	return query.All(all...)
}

// policyColumn finds the policy's entry of the column that an expression is, unchanged; nil for anything else.
func policyColumn(e *expr.Expr) *policy.Column {
	if e.Column() == nil {
		return nil
	}
	if c, ok := e.Column().Source.(*relation.Column); ok {
		return c.Policy
	}
	return nil
}

// LocatedCall gives an error without a position that of a call.
func LocatedCall(b *relation.Base, err error, c *Call) error {
	return b.Located(err, &pg_query.Node{Node: &pg_query.Node_FuncCall{
		FuncCall: &pg_query.FuncCall{Location: int32(c.Location)},
	}})
}
