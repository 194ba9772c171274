package relation

import (
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/policy/bound"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltext"
)

// PublicQuery is a query of the client's over public tables alone whose rows are read when the statement is planned,
// and are constants from then on (docs/privacy.md P4g).
type PublicQuery struct {
	Columns []schema.ColumnDescription
	Query   schema.ClientQuery // without its List
}

// mostRead bounds what the texts of such rows hold together, in bytes: main gets each.
const mostRead = 8 << 20

// ReadableType spells a type whose values can be read.
func (b *Base) ReadableType(oid uint32) (name string, ok bool) {
	if StageType(oid) {
		return schema.TypeName(oid), true
	}
	t, known := b.Schema.Types[oid]
	return sqltext.Ident(t.Schema) + "." + sqltext.Ident(t.Name), known && len(b.Schema.Enums[oid]) > 0
}

// Collated says that values of a readable type have a collation.
func Collated(oid uint32) bool { return pgresolve.IsString(oid) }

// ReadRows makes the relation of the rows of a public query.
func (b *Base) ReadRows(q *PublicQuery) (*Relation, error) {
	alias := b.NewAlias()
	var lists []query.Scalar
	var cols []*Column
	list := &query.Function{As: alias}
	rows := &query.Select{From: list}
	for i, c := range q.Columns {
		name := fmt.Sprintf("c%d", i+1)
		typ, _ := b.ReadableType(c.Type)
		lists, list.Columns = append(lists, query.Raw(fmt.Sprintf("pg_catalog.unnest($%d::%s[])", i+1, typ))),
			append(list.Columns, name)
		x := &expr.Column{
			Ref: alias.Column(name), Name: c.Name, Type: c.Type, Typmod: c.Typmod, TypeName: typ, Nullable: true, Scale: -1,
			EnumLabels: b.Schema.Enums[c.Type], DeterministicCollation: true,
		}
		cols = append(cols, &Column{Name: c.Name, Value: x})
		if _, err := CanonicalText(x.Ref, x); err == nil {
			rows.OrderBy = append(rows.OrderBy, x.Ref) // one question, whatever the order that they come in
		}
	}
	list.Call = query.F("ROWS FROM ({})", query.List{Between: ", ", Of: lists})
	ask := func(l schema.Lookup, list schema.Query) ([][]*schema.Canonical, error) { return b.readOnce(l, q, list) }
	r, ok, err := b.folded(rows, cols, ask)
	if err == nil && !ok {
		err = refusal.New(refusal.TooMuchWork, fmt.Sprintf(
			"a query over public tables that private rows are combined with has more than %d rows", MaxConstants),
			pgerr.Hint("Narrow it: with WHERE, GROUP BY or LIMIT."))
	}
	if err != nil {
		return nil, err
	}
	for _, c := range r.Columns {
		b.boundListed(c.Value)
	}
	r.Plan = NewPlanNode(fmt.Sprintf("public rows that were read: %d", r.publicRows))
	return r, nil
}

// boundListed gives a column of constants the bounds of its values. It is read clamped to them, so that no sensitivity
// rests on how they are written.
func (b *Base) boundListed(x *expr.Column) {
	if !pgresolve.IsNumber(x.Type) && !pgresolve.IsTime(x.Type) && x.Type != pgtype.DateOID {
		return
	}
	if b.Lookup == nil {
		x.AwaitBounds()
		return
	}
	within := bounds.New(bounds.Zero, bounds.Zero)
	for i, value := range x.Domain {
		r, err := bound.ForColumn(x.Type, value, value)
		if err != nil { // it is infinite, or no number
			return
		}
		if i == 0 {
			within = RangeOf(r)
		}
		within = within.Hull(RangeOf(r))
	}
	x.Bounds = within
}

// readOnce reads the rows of a query once for a planning: LIMIT may choose others the next time. How long their values
// may be is bounded as it is for those of a stage.
func (b *Base) readOnce(l schema.Lookup, q *PublicQuery, list schema.Query) ([][]*schema.Canonical, error) {
	asked := q.Query
	asked.List = list
	if rows, ok := b.listed[asked.SQL]; ok {
		return rows, nil
	}
	rows, err := l.Listed(asked)
	if err != nil {
		return nil, err
	}
	bytes := 0
	for _, row := range rows {
		for i, value := range row {
			if value == nil {
				continue
			}
			if bytes += len(*value); bytes > mostRead || TooLong(list.Types[i], *value) {
				return nil,
					refusal.New(refusal.TooComplex,
						"a query over public tables that private rows are combined with returns too long a text or number, or too many",
						pgerr.Hint("Leave columns out that are not needed, or shorten them: left(x, 100), round(x, 10)."))
			}
		}
	}
	b.listed[asked.SQL] = rows
	return rows, nil
}
