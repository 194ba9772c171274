package expr

import (
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
)

// comparisons maps each comparison to its negation and its mirror.
var comparisons = map[string]struct{ not, mirror string }{
	"=": {"<>", "="}, "<>": {"=", "<>"}, "<": {">=", ">"}, "<=": {">", ">="}, ">": {"<=", "<"}, ">=": {"<", "<="},
}

var comparisonRules = []rule{{
	names: "= <> < <= > >=",
	args: "int2|int4|int8,int2|int4|int8 float4|float8,float4|float8 numeric,numeric date|timestamp|timestamptz,date|timestamp|timestamptz " +
		"text,text bpchar,bpchar name,name bool,bool uuid,uuid time,time interval,interval",
	total: "always", unclamped: true, apply: compare,
}}

// compare is total for any values: NaN, infinities and dates beyond a timestamp's range have an order too. So what is
// stored is compared, also in operands that are total for any value. Both collations must agree, or PostgreSQL raises
// when the first row arrives.
func compare(c *call, e *Expr) error {
	for i, a := range c.args {
		c.args[i] = a.stored()
	}
	*e = *c.result(pgtype.BoolOID) // what is stored may be NULL where what is read is not
	e.op = c.cand.Name
	e.said = c.b.localCondition(c.cand.Name, c.args[0], c.args[1])
	return nil
}

// collations merges the arguments' collations into e.
func (c *call) collations(e *Expr) error {
	for _, a := range c.args {
		if !pgresolve.IsString(a.typ) {
			continue
		}
		e.nondeterministic = e.nondeterministic || a.nondeterministic
		if a.collation == "" || a.collation == e.collation {
			continue
		}
		if e.collation != "" {
			return c.refuse(refusal.Collation, "its operands have different collations", `write COLLATE "C" after one of them`)
		}
		e.collation = a.collation
	}
	return nil
}
