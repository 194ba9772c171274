package expr

import (
	"math/big"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltext"
)

// printer makes the SQL of expressions for main.
type printer struct {
	raw     bool                     // columns are read unclamped: the whole is clamped afterwards (see rawSafe)
	columns map[*Column]query.Scalar // in place of a column
	nodes   map[*Expr]query.Scalar   // in place of an expression
}

func (p *printer) print(e *Expr) query.Scalar {
	if s, ok := p.nodes[e]; ok {
		return s
	}
	switch {
	case e.verbatim != nil:
		return e.verbatim
	case e.col != nil:
		return p.column(e)
	case e.param > 0 && e.provisional:
		return query.Raw("($" + strconv.Itoa(e.param) + "::" + e.typeName + ")")
	case e.value != nil && e.value.items == nil:
		return query.Raw(printConstant(e))
	case e.op != "":
		return p.canonical(e)
	}
	form := query.Form{Text: []string{""}}
	for rest := e.tmpl; rest != ""; {
		before, after, found := strings.Cut(rest, "{")
		form.Text[len(form.Of)] += before
		if !found {
			break
		}
		field, tail, _ := strings.Cut(after, "}")
		rest = tail
		if field == "T" {
			form.Text[len(form.Of)] += e.typeName
			continue
		}
		n, err := strconv.Atoi(field)
		if err != nil {
			panic("expr: template " + e.tmpl)
		}
		arg := p.print(e.args[n])
		if x := e.args[n].value; e.value != nil && x != nil && x.text != nil {
			// the cast of an array types its items, as their own casts would, in half the text
			arg = query.Raw(sqltext.Literal(*x.text))
		}
		form.Of, form.Text = append(form.Of, arg), append(form.Text, "")
	}
	return form
}

func printConstant(e *Expr) string {
	if e.value.text == nil {
		return "NULL::" + e.typeName
	}
	text := *e.value.text
	switch {
	case e.typ == pgtype.BoolOID:
		return text
	case e.typ == pgtype.Int4OID && e.bounds.Lo.Sign() >= 0:
		return text // PostgreSQL reads digits up to 2147483647 as integer
	case e.typ == pgtype.UnknownOID:
		return sqltext.Literal(text) + "::pg_catalog.text" // only where any type does, as in IS NULL
	}
	return sqltext.Literal(text) + "::" + e.typeName
}

// column prints a column, clamped where the expression asks for it. NULL fails every comparison and stays NULL; NaN is
// above every number and becomes the upper bound.
func (p *printer) column(e *Expr) query.Scalar {
	ref, ok := p.columns[e.col]
	if ok {
		return ref
	}
	ref = e.col.Ref
	if e.col.Base != 0 && e.typ == e.col.Base {
		ref = query.F("({})::{}", ref, e.typeName)
	}
	if !e.clamp || p.raw {
		return ref
	}
	if clamped := e.clampedAs(); clamped != nil {
		return clamped
	}
	if e.typ == pgtype.IntervalOID {
		return intervalRead(e, ref)
	}
	clamp := query.Clamp{X: ref, Ladder: true}
	held, _ := (&Expr{col: e.col}).heldBounds()
	if lo := e.bounds.Lo; lo != nil && (held.Lo == nil || held.Lo.Cmp(lo) < 0) {
		clamp.Lo = query.Raw(boundLiteral(e, lo, false))
	}
	if hi := e.bounds.Hi; hi != nil && (held.Hi == nil || held.Hi.Cmp(hi) > 0) {
		clamp.Hi = query.Raw(boundLiteral(e, hi, true))
	}
	if e.flush {
		tiny := bounds.Pow2(-flushExponent(e.typ))
		clamp.Within = query.F(
			"(CASE WHEN {} OPERATOR(pg_catalog.>) {} AND {} OPERATOR(pg_catalog.<) {} THEN {} ELSE {} END)",
			ref, floatLiteral(e.typ, neg(tiny)), ref, floatLiteral(e.typ, tiny), floatLiteral(e.typ, bounds.Zero), ref)
	}
	if clamp.Lo == nil && clamp.Hi == nil {
		if e.flush {
			return clamp.Within
		}
		return ref
	}
	return clamp
}

// intervalRead clamps an interval by its epoch, since PostgreSQL's order counts years of 360 days. Where fields of both
// signs cancel out, they may be large although the epoch is not, and would overflow a timestamp: such a value is read
// as its epoch.
func intervalRead(e *Expr, ref query.Scalar) query.Scalar {
	epoch := epochOf(ref)
	cases := []query.Scalar{query.Raw("(CASE")}
	for _, end := range []struct {
		r  *big.Rat
		op string
	}{{e.bounds.Lo, "<"}, {e.bounds.Hi, ">"}} {
		if end.r != nil {
			cases = append(cases, query.F(" WHEN {} OPERATOR(pg_catalog.{}) {} THEN {}", epoch, end.op, epochLiteral(end.r),
				valueLiteral(pgtype.IntervalOID, end.r, end.op == ">")))
		}
	}
	if e.bounds.Finite() {
		days := floatLiteral(pgtype.Float8OID, bounds.Ceil(quo(fieldLimit(e.bounds), microsPerDay)))
		for _, f := range []struct{ field, factor string }{{"day", "1"}, {"year", "366"}} {
			cases = append(
				cases,
				query.F(
					" WHEN pg_catalog.abs(pg_catalog.date_part('{}'::pg_catalog.text, {})) OPERATOR(pg_catalog.*) {}::pg_catalog.float8 OPERATOR(pg_catalog.>) {} THEN ({} OPERATOR(pg_catalog.*) '1 second'::pg_catalog.interval)",
					f.field, ref, f.factor, days, epoch))
		}
	}
	return query.List{Of: append(cases, query.F(" ELSE {} END)", ref))}
}

// epochOf prints an interval's length in seconds, and epochLiteral one that is given in microseconds.
func epochOf(x query.Scalar) query.Scalar {
	return query.F("pg_catalog.date_part('epoch'::pg_catalog.text, {})", x)
}

func epochLiteral(r *big.Rat) string {
	seconds, _ := roundFloat(quo(r, microsPerSec), pgtype.Float8OID)
	return floatLiteral(pgtype.Float8OID, seconds)
}

// fieldLimit bounds the days, and the years, of an interval column.
func fieldLimit(b bounds.Interval) *big.Rat { return add(b.Abs().Hi, mul(rat(366), microsPerDay)) }
