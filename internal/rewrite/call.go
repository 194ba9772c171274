package rewrite

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// call is one aggregate call, typed and bounded.
type call struct {
	name       string // canonical: every → bool_and, variance → var_samp, stddev → stddev_samp
	text       string // as the analyst would call it
	args       []*expr.Expr
	filter     *expr.Expr // nil: none
	distinct   bool
	star       bool
	fractions  []float64
	array      bool // percentile of an array of fractions
	descending bool
	typ        uint32
	location   int
}

var synonyms = map[string]string{"every": "bool_and", "variance": "var_samp", "stddev": "stddev_samp"}

// valueAggregates return values of rows.
var valueAggregates = map[string]bool{
	"array_agg": true, "string_agg": true, "json_agg": true, "jsonb_agg": true, "json_object_agg": true, "jsonb_object_agg": true, "mode": true, "xmlagg": true,
	"any_value": true, "range_agg": true, "range_intersect_agg": true,
}

// newCall types an aggregate call over the rows of sc.
func (b *builder) newCall(f *pg_query.FuncCall, sc *scope) (*call, error) {
	node := &pg_query.Node{Node: &pg_query.Node_FuncCall{FuncCall: f}}
	c := &call{name: functionName(f), distinct: f.AggDistinct, star: f.AggStar, location: int(f.Location)}
	if s := synonyms[c.name]; s != "" {
		c.name = s
	}
	if valueAggregates[c.name] {
		return nil, b.refuse(pgerr.InsufficientPrivilege, node, fmt.Sprintf("%s returns values of private rows", c.name), "Use count, sum, avg, min, max or a percentile.")
	}
	if !aggregateNames[c.name] {
		return nil, b.refuse(pgerr.FeatureNotSupported, node, fmt.Sprintf("aggregate %s is not supported", functionName(f)), "")
	}
	if c.star && c.name != "count" {
		return nil, b.refuse(pgerr.FeatureNotSupported, node, c.name+"(*) must be used to call a parameterless aggregate function", "")
	}
	if f.FuncVariadic {
		return nil, b.refuse(pgerr.FeatureNotSupported, node, "VARIADIC is not supported", "")
	}
	if len(f.AggOrder) > 0 && !f.AggWithinGroup {
		if c.name != "count" && c.name != "sum" && c.name != "avg" {
			return nil, b.refuse(pgerr.FeatureNotSupported, node, "ORDER BY inside an aggregate is not supported", "")
		}
	}
	args := f.Args
	if f.AggWithinGroup {
		if err := b.fractions(c, f, node, sc); err != nil {
			return nil, err
		}
		args = []*pg_query.Node{f.AggOrder[0].GetSortBy().Node}
	}
	for _, a := range args {
		x, err := sc.expression(a)
		if err != nil {
			return nil, err
		}
		c.args = append(c.args, x)
	}
	if want := argumentCount(c); len(c.args) != want {
		return nil, b.refuse(pgerr.FeatureNotSupported, node, fmt.Sprintf("%s takes %d arguments", c.name, want), "")
	}
	if f.AggFilter != nil {
		x, err := sc.condition(f.AggFilter)
		if err != nil {
			return nil, err
		}
		c.filter = x
	}
	c.text = c.name + "(*)"
	if !c.star && len(c.args) > 0 {
		texts := make([]string, len(c.args))
		for i, x := range c.args {
			texts[i] = x.Text()
		}
		c.text = c.name + "(" + strings.Join(texts, ", ") + ")"
		if c.distinct {
			c.text = c.name + "(DISTINCT " + texts[0] + ")"
		}
	}
	return c, b.typeCall(c, node)
}

// argumentCount is how many aggregated arguments a call has to have.
func argumentCount(c *call) int {
	switch {
	case c.star:
		return 0
	case c.name == "corr" || strings.HasPrefix(c.name, "covar") || strings.HasPrefix(c.name, "regr"):
		return 2
	}
	return 1
}

// fractions reads the direct argument of percentile_cont and percentile_disc: a constant or parameter in [0,1].
func (b *builder) fractions(c *call, f *pg_query.FuncCall, node *pg_query.Node, sc *scope) error {
	if c.name != "percentile_cont" && c.name != "percentile_disc" || len(f.Args) != 1 || len(f.AggOrder) != 1 {
		return b.refuse(pgerr.FeatureNotSupported, node, fmt.Sprintf("aggregate %s is not supported", c.name), "")
	}
	c.descending = f.AggOrder[0].GetSortBy().SortbyDir == pg_query.SortByDir_SORTBY_DESC
	values, array, err := sc.constantNumbers(f.Args[0])
	if err != nil {
		return err
	}
	c.array = array
	for _, v := range values {
		q, _ := v.Float64()
		if q < 0 || q > 1 {
			return b.refuse(pgerr.InvalidParameterValue, node, "percentile value is not between 0 and 1", "")
		}
		c.fractions = append(c.fractions, q)
	}
	return nil
}

// constantNumbers reads a number, an ARRAY[…] of numbers, or an array literal.
func (s *scope) constantNumbers(n *pg_query.Node) ([]*big.Rat, bool, error) {
	if a := n.GetAArrayExpr(); a != nil {
		var out []*big.Rat
		for _, e := range a.Elements {
			v, _, err := s.constantNumbers(e)
			if err != nil {
				return nil, true, err
			}
			out = append(out, v...)
		}
		return out, true, nil
	}
	x, err := s.expression(n)
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
	return nil, false, s.b.refuse(pgerr.FeatureNotSupported, n, "the fraction of a percentile must be a constant", "")
}

// typeCall gives the result type that PostgreSQL gives, and refuses arguments that the aggregate does not take.
func (b *builder) typeCall(c *call, node *pg_query.Node) error {
	var t uint32
	if len(c.args) > 0 {
		t = baseType(c.args[0])
	}
	numeric := schema.IsInteger(t) || t == pgtype.NumericOID
	switch c.name {
	case "count":
		c.typ = pgtype.Int8OID
	case "sum":
		switch {
		case t == pgtype.Int2OID || t == pgtype.Int4OID:
			c.typ = pgtype.Int8OID
		case t == pgtype.Int8OID || t == pgtype.NumericOID:
			c.typ = pgtype.NumericOID
		case schema.IsFloat(t) || t == pgtype.IntervalOID:
			c.typ = t
		}
	case "avg", "var_pop", "var_samp", "stddev_pop", "stddev_samp":
		switch {
		case numeric:
			c.typ = pgtype.NumericOID
		case schema.IsFloat(t):
			c.typ = pgtype.Float8OID
		case t == pgtype.IntervalOID && c.name == "avg":
			c.typ = t
		}
	case "corr", "covar_pop", "covar_samp", "regr_slope", "regr_intercept", "regr_r2", "regr_count", "regr_avgx", "regr_avgy":
		if len(c.args) == 2 && (numeric || schema.IsFloat(t)) && schema.IsNumber(baseType(c.args[1])) {
			c.typ = pgtype.Float8OID
		}
		if c.name == "regr_count" {
			c.typ = pgtype.Int8OID
		}
	case "min", "max", "percentile_disc":
		switch {
		case t == pgtype.VarcharOID && c.name != "percentile_disc":
			c.typ = pgtype.TextOID
		case schema.IsNumber(t) || t == pgtype.DateOID || schema.IsTime(t) || schema.IsText(t) || t == pgtype.BPCharOID || len(c.args[0].AsColumn(nil, "").EnumLabels) > 0:
			c.typ = t
		}
	case "percentile_cont":
		switch {
		case schema.IsNumber(t):
			c.typ = pgtype.Float8OID
		case t == pgtype.IntervalOID:
			c.typ = t
		}
	case "bool_and", "bool_or":
		if t == pgtype.BoolOID {
			c.typ = t
		}
	}
	if c.typ == 0 {
		return b.refuse(pgerr.FeatureNotSupported, node, fmt.Sprintf("aggregate %s is not supported for this type", c.text), "")
	}
	if c.distinct && c.name != "count" && c.name != "min" && c.name != "max" && c.name != "bool_and" && c.name != "bool_or" {
		return b.refuse(pgerr.FeatureNotSupported, node, fmt.Sprintf("%s with DISTINCT is not supported", c.name), "Use count(DISTINCT …).")
	}
	return nil
}

// baseType is an expression's type, looking through domains.
func baseType(e *expr.Expr) uint32 {
	if c := e.Column(); c != nil && c.Base != 0 {
		return c.Base
	}
	return e.Type()
}

// condition is the condition under which a row counts: the filter, and every given guard; nil: every row does.
func (c *call) condition(guards ...query.Scalar) query.Scalar {
	var all []query.Scalar
	if c.filter != nil {
		all = append(all, c.filter.SQL())
	}
	for _, g := range guards {
		if g != nil {
			all = append(all, g)
		}
	}
	return query.All(all...)
}

// policyColumn is the policy's entry of the column that an expression is, unchanged; nil for anything else.
func policyColumn(e *expr.Expr) *policy.Column {
	if e.Column() == nil {
		return nil
	}
	if c, ok := e.Column().Source.(*column); ok {
		return c.policy
	}
	return nil
}
