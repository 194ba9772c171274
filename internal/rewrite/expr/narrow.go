package expr

import (
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
)

// Narrowing is what a condition that holds says of a column.
type Narrowing struct {
	Bounds  bounds.Interval // to be intersected with the column's
	NotNull bool
	Never   bool     // no value is left
	Domain  []string // the only values left, in text form; nil: no such knowledge
	set     valueSet
}

// Narrow collects what must hold of columns wherever condition is true. For a WHERE: build the WHERE first, narrow
// copies of the columns, and build the rest with those.
func Narrow(condition *Expr) map[*Column]Narrowing { return narrow(condition, isTrue) }

// sense says what is known of a three-valued condition.
type sense int

const (
	isTrue sense = iota
	isFalse
	notTrue // false or NULL: what an ELSE branch knows
	notFalse
)

func (s sense) negated() sense { return [...]sense{isFalse, isTrue, notFalse, notTrue}[s] }

// otherwise is what is known where s is not so.
func (s sense) otherwise() sense { return [...]sense{notTrue, notFalse, isTrue, isFalse}[s] }

// narrow gives what a condition of known sense says of columns. Bounds speak of values, so they hold of NULL too.
func narrow(condition *Expr, s sense) map[*Column]Narrowing {
	c := &claims{left: mostNodes + 2*condition.weigh()}
	out := map[*Column]Narrowing{}
	for key, set := range c.of(condition, s).facts {
		col := key.(*Column)
		out[col] = narrowing(columnExpr(col, -1), set)
	}
	return out
}

func narrowing(e *Expr, set valueSet) Narrowing {
	n := Narrowing{NotNull: !set.null, set: set}
	if e.inUnits() {
		n.Bounds, n.Never = set.hull(nil), set.empty()
	}
	points, few := set.values()
	if text := pgresolve.IsString(e.baseType()) && e.baseType() != pgtype.BPCharOID; !few || !text && !e.isEnum() {
		return n
	}
	for _, p := range points {
		text := p.text
		if e.isEnum() {
			text = e.labels[p.number.Num().Int64()]
		}
		n.Domain = append(n.Domain, text)
	}
	return n
}

// inUnits says that bounds of the expression are of the same numbers as the places of its values are: those of an
// interval have a month of another length.
func (e *Expr) inUnits() bool { return pgresolve.IsNumber(e.baseType()) || stepwise(e.baseType()) }
