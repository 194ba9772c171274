package expr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
)

// funcCall resolves a function of pg_catalog.
func (b *builder) funcCall(f *pg_query.FuncCall) (*Expr, error) {
	loc := int(f.Location)
	name := functionWord(f)
	text := describe(&pg_query.Node{Node: &pg_query.Node_FuncCall{FuncCall: f}})
	switch {
	case strings.Contains(name, "."):
		return nil, Refuse(refusal.Function, loc, fmt.Sprintf("function %s is not supported on private rows", name), "")
	case f.Over != nil:
		return nil, Refuse(refusal.Window, loc, fmt.Sprintf("window function %s is not supported on private rows", name),
			"use windows over aggregates, or a window partitioned by the privacy unit in a subquery's SELECT list")
	case f.AggStar || f.AggDistinct || f.AggFilter != nil || f.AggWithinGroup || len(f.AggOrder) > 0:
		return nil, Refuse(refusal.AggregateForm, loc, fmt.Sprintf("aggregate %s is not allowed here", name), "")
	case f.FuncVariadic:
		return nil, Refuse(refusal.Function, loc, "VARIADIC is not supported on private rows", "")
	}
	nodes := f.Args
	if name == "make_interval" {
		nodes = intervalArguments(nodes)
	}
	for _, a := range nodes {
		if a.GetNamedArgExpr() != nil {
			return nil, Refuse(refusal.Function, loc, "named arguments are not supported on private rows",
				"give the arguments in order")
		}
	}
	args, err := b.list(nodes)
	if err != nil {
		return nil, err
	}
	if e := b.endFunction(name, args, text, loc); e != nil {
		return e, nil
	}
	if r, ok := b.rules.builders[name]; ok {
		if e, err := r.build(&call{b: b, args: args, text: text, loc: loc}, name); e != nil || err != nil {
			return e, err
		}
	}
	if len(pgresolve.Functions(name)) == 0 {
		return nil, Refuse(refusal.Function, loc, fmt.Sprintf("function %s is not supported on private rows", name), "")
	}
	cand := pgresolve.Function(name, baseTypes(args))
	if cand == nil {
		return nil, Refuse(refusal.Function, loc, fmt.Sprintf("function %s is not supported for %s", name, typeList(args)),
			"")
	}
	return b.resolved(cand, args, functionTemplate(cand.Name, len(cand.Args)), text, loc)
}

// intervalParts names the arguments of make_interval.
var intervalParts = []string{"years", "months", "weeks", "days", "hours", "mins", "secs"}

// intervalArguments puts named arguments of make_interval into their places, and 0 where there is none. What has no
// place stays as it is.
func intervalArguments(nodes []*pg_query.Node) []*pg_query.Node {
	out := make([]*pg_query.Node, len(intervalParts))
	for i, n := range nodes {
		if named := n.GetNamedArgExpr(); named != nil {
			i, n = slices.Index(intervalParts, named.Name), named.Arg
		}
		if i < 0 || i >= len(out) || out[i] != nil {
			return nodes
		}
		out[i] = n
	}
	for i, n := range out {
		if n == nil {
			out[i] = pg_query.MakeAConstIntNode(0, -1)
		}
	}
	return out
}

// functionTemplate prints a call with n arguments.
func functionTemplate(name string, n int) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf("{%d}", i)
	}
	return "pg_catalog." + pgresolve.QuoteName(name) + "(" + strings.Join(parts, ", ") + ")"
}

// sqlValue builds CURRENT_DATE and its kind.
func (b *builder) sqlValue(f *pg_query.SQLValueFunction) (*Expr, error) {
	loc := int(f.Location)
	word := strings.TrimPrefix(f.Op.String(), "SVFOP_")
	oid, ok := map[pg_query.SQLValueFunctionOp]uint32{
		pg_query.SQLValueFunctionOp_SVFOP_CURRENT_DATE:      pgtype.DateOID,
		pg_query.SQLValueFunctionOp_SVFOP_CURRENT_TIMESTAMP: pgtype.TimestamptzOID,
		pg_query.SQLValueFunctionOp_SVFOP_LOCALTIMESTAMP:    pgtype.TimestampOID,
		pg_query.SQLValueFunctionOp_SVFOP_LOCALTIME:         pgtype.TimeOID,
	}[f.Op]
	if !ok {
		return nil, Refuse(refusal.Function, loc, word+" is not supported on private rows", "")
	}
	return b.clock(oid, word, loc)
}
