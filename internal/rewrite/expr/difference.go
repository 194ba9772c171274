package expr

import (
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
)

// Difference finds a difference of columns, or an age, that nothing keeps near 0: its operands have much the same
// bounds, and its own are at least as far apart as theirs. Those of the whole expression follow from them in
// proportion. nil: there is none.
func (e *Expr) Difference() *Expr {
	if len(e.args) == 2 && (e.tmpl == minusTemplate || e.distance != nil) && e.overlap() {
		return e
	}
	if !e.inProportion() {
		return nil
	}
	for _, a := range e.args {
		if d := a.Difference(); d != nil {
			return d
		}
	}
	return nil
}

// overlap says that both operands are read from columns, that their bounds have half of the wider ones in common, and
// the result's all.
func (e *Expr) overlap() bool {
	x, y := e.args[0], e.args[1]
	if !e.bounds.Finite() || !x.bounds.Finite() || !y.bounds.Finite() || len(x.direct()) == 0 || len(y.direct()) == 0 {
		return false
	}
	widest := bounds.Max(x.bounds.Width(), y.bounds.Width())
	common := x.bounds.Intersect(y.bounds).Width()
	return common.Sign() > 0 && mul(common, rat(2)).Cmp(widest) >= 0 && e.bounds.Width().Cmp(widest) >= 0
}

// inProportion says that narrower bounds of an operand make those of the expression as much narrower.
func (e *Expr) inProportion() bool {
	if e.typ == pgtype.BoolOID {
		return false
	}
	if len(e.args) == 2 && e.args[0].value != nil && e.args[0].value.text != nil &&
		strings.EqualFold(*e.args[0].value.text, "epoch") {
		return true // extract(epoch FROM …)
	}
	printed := []string{castTemplate, "({0} OPERATOR(pg_catalog.", "(OPERATOR(pg_catalog.-)", "COALESCE(", "(CASE"}
	return slices.ContainsFunc(printed, func(prefix string) bool { return strings.HasPrefix(e.tmpl, prefix) })
}
