package expr

import (
	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// Column describes a column that an expression may read. The caller owns it; Build keeps the pointer as the column's
// identity.
type Column struct {
	Ref        query.Scalar // the column as a query for main reads it
	Name       string       // as messages name it
	Type       uint32       // type OID, possibly a domain's or an enum's
	Typmod     int32        // −1: none
	TypeName   string       // format_type(Type, Typmod), as SQL prints it
	Base       uint32       // a domain's base type; 0: Type is no domain
	BaseTypmod int32        // a domain's typmod (with Base)
	Nullable   bool         // by schema, or made so by a join
	// not Nullable, since a condition keeps NULL out: PostgreSQL may compute with the column before
	NullBefore bool
	// Nullable, but no row has NULL as long as main enforces its foreign keys and domains: no list of values has it
	Filled   bool
	Bounds   bounds.Interval // declared or derived; ends may be open
	Enforced bool            // values lie in Bounds already (a derived table's column): no clamp where it is read
	// with Enforced: where values lie, once a condition has narrowed Bounds (see Narrow); nil: in Bounds
	Held   *bounds.Interval
	Beyond *Beyond // values lie beyond Bounds; nil: no number of one unit is among them
	// computes the column clamped to Bounds, in less than clamping Ref takes; nil: nothing does
	Clamped query.Scalar
	// rows may have values beyond Bounds, or, with Enforced, values computed of a bound in place of such a value
	OutOfBounds []OutOfBounds
	// with OutOfBounds: false where a value that this one was computed of lies beyond its bounds; nil: none says so
	InBounds query.Scalar
	// InBounds says nothing of these: numbers of several rows were computed of the nearest bound
	Nearest    []OutOfBounds
	Within     []OutOfBounds // of these no row that is left has a value beyond bounds
	Domain     []string      // declared values in text form; nil: none
	EnumLabels []string      // Type (or Base) is an enum: its labels in order
	Unit       bool          // identifies the privacy unit
	OfUnit     bool          // computed from such a column
	Scale      int           // with Enforced: digits after the point of a numeric (see Expr.Scale); −1: unknown
	Collation  string        // quoted and qualified; empty: the type's default
	// DeterministicCollation: equality is byte equality. True for types without collation.
	DeterministicCollation bool
	Source                 any   // the caller's: what the column came from
	Chars                  int64 // of a public text: how many it has on average; 0: unknown
	Work                   Work  // of computing it, where a subselect or a subquery does
	Subquery               bool  // a subquery computes it, for one row
	// PartOf lists columns of the same row, none of them negative and none less than this one, which is not negative
	// either (docs/privacy.md P8d).
	PartOf []query.Scalar

	ends  [2]*Column // of a range: its ends, once something has read them
	of    *Column    // the range of which this is an end
	which int        // and which one

	choices     []*Expr // the column holds values of these expressions, each over its own columns; nil: not computed
	provisional bool    // these, or its bounds, wait for parameter values
}

// Read makes an expression of a bare column. Refusals point to location.
func Read(c *Column, location int) *Expr { return columnExpr(c, location) }

func (b *builder) columnRef(r *pg_query.ColumnRef) (*Expr, error) {
	var fields []string
	for _, f := range r.Fields {
		if f.GetString_() == nil {
			return nil, Refuse(refusal.Rows, int(r.Location), "whole rows cannot be used in an expression", "name the columns")
		}
		fields = append(fields, f.GetString_().Sval)
	}
	if len(fields) == 0 {
		return nil, Refuse(refusal.Construct, int(r.Location), "a column has no name", "")
	}
	c, err := b.scope.Column(fields, int(r.Location))
	if err != nil {
		return nil, err
	}
	return b.underConditions(c, int(r.Location)), nil
}

// underConditions reads a column in the branch of a CASE that is being built.
func (b *builder) underConditions(c *Column, loc int) *Expr {
	i := len(b.narrows)
	for i > 0 && b.narrows[i-1].read[c] == nil {
		i--
	}
	e := b.read(columnExpr(c, loc))
	if i > 0 {
		e = b.narrows[i-1].read[c]
	}
	for ; i < len(b.narrows); i++ {
		if n, ok := b.narrows[i].says[c]; ok {
			e = e.narrowed(n)
		}
		b.narrows[i].read[c] = e
	}
	out := *e
	out.location = loc
	return &out
}

// held is a condition that holds in the branch being built, with the columns that were read under it and all before it.
type held struct {
	says map[*Column]Narrowing
	read map[*Column]*Expr
}

// hold has a condition of known sense hold in what is built next.
func (b *builder) hold(condition *Expr, s sense) {
	b.narrows = append(b.narrows, held{narrow(condition, s), map[*Column]*Expr{}})
}

// columnExpr makes an expression of a bare column, with bounds that its type represents exactly.
func columnExpr(c *Column, loc int) *Expr {
	e := newExpr(c.Type, loc)
	e.typmod, e.typeName, e.nullable, e.col, e.labels = c.Typmod, c.TypeName, c.Nullable, c, c.EnumLabels
	e.nullBefore = c.NullBefore
	e.collation, e.nondeterministic, e.text = c.Collation, !c.DeterministicCollation, c.Name
	e.provisional = c.provisional
	base, typmod := e.baseType(), c.Typmod
	if c.Base != 0 {
		typmod = c.BaseTypmod
	}
	if pgresolve.LookupType(c.Type) != nil {
		e.typeName = pgresolve.Qualified(c.Type, c.Typmod)
	}
	if pgresolve.IsNumber(base) || pgresolve.IsTime(base) {
		e.bounds = representable(base, c.Bounds)
		if base == pgtype.TimeOID {
			e.bounds = e.bounds.Fill(dayRange)
		}
	}
	switch {
	case pgresolve.IsInt(base):
		e.scale = 0
	case base == pgtype.NumericOID && typmod >= 0:
		_, e.scale = pgresolve.NumericTypmod(typmod)
		e.scale = max(0, e.scale)
	case base == pgtype.NumericOID && c.Enforced:
		e.scale = c.Scale
	case (base == pgtype.VarcharOID || base == pgtype.BPCharOID) && typmod >= 0:
		e.maxLen = int(typmod - 4)
	case base == pgtype.NameOID:
		e.maxLen = 63
	}
	return e
}

// AsColumn describes the column that a subselect makes of the expression's SQL: type, labels, collation, digits and
// bounds, which are enforced only if the SQL enforces them. That of a bare column does not; its clamps are printed
// where the new column is read.
func (e *Expr) AsColumn(ref query.Scalar, name string) *Column {
	c := &Column{
		Ref: ref, Name: name, Type: e.typ, Typmod: e.typmod, TypeName: e.typeName, Nullable: e.nullable,
		NullBefore: e.nullBefore, Bounds: e.bounds, Enforced: true, Scale: e.scale,
		EnumLabels: e.labels, Collation: e.collation, DeterministicCollation: !e.nondeterministic, choices: []*Expr{e},
		provisional: e.provisional, OfUnit: e.OfUnit(), Work: e.Work(), OutOfBounds: e.Clamped(), Nearest: e.Computed(),
		Within: e.Within(),
	}
	if e.col != nil {
		c.Domain, c.choices = e.col.Domain, e.col.choices
		if e.kept() {
			c.Unit, c.Source = e.col.Unit, e.col.Source
		}
		c.setHeldBounds(e.heldBounds())
		if !e.clamp {
			c.Beyond = e.col.Beyond
		}
		if e.typ == e.col.Type {
			c.Base, c.BaseTypmod = e.col.Base, e.col.BaseTypmod
		}
		if e.col.isRange() {
			c.Bounds, c.ends = e.col.Bounds, e.col.ends
		}
	}
	if c.Beyond == nil && e.Cuts() { // what is lost is lost
		c.Beyond = &Beyond{Most: e.bounds, Listed: e.bounds}
	}
	return c
}

// kept reports whether the SQL gives a column's own value. A column that is read clamped gives one value for many: it
// names neither a row nor a unit.
func (e *Expr) kept() bool {
	if e.col == nil {
		return false
	}
	sql := e.SQL()
	return query.Equal(sql, e.col.Ref) || query.Equal(sql, query.F("({})::{}", e.col.Ref, e.typeName))
}

// heldBounds is the interval in which every value lies that the SQL gives, wherever it is computed. ok is false where
// the bounds are only declared. A WHERE that narrowed a column holds nothing: PostgreSQL may compute with the column
// before.
func (e *Expr) heldBounds() (i bounds.Interval, ok bool) {
	switch {
	case e.col == nil || e.clamp:
		return e.bounds, true
	case !e.col.Enforced:
		return bounds.Interval{}, false
	case e.col.Held != nil:
		return *e.col.Held, true
	}
	return e.col.Bounds, true
}

// setHeldBounds notes where the column's values lie.
func (c *Column) setHeldBounds(held bounds.Interval, ok bool) {
	c.Enforced, c.Held = ok, nil
	if ok && !held.Within(c.Bounds) {
		c.Held = &held
	}
}

// Narrow takes the bounds that a condition of a WHERE leaves. What it holds no longer is clamped where the column is
// read.
func (c *Column) Narrow(limits bounds.Interval) {
	held, ok := (&Expr{col: c}).heldBounds()
	c.Bounds = limits
	c.setHeldBounds(held, ok)
}

// AwaitBounds notes that the bounds of the column are not known before the values of parameters are.
func (c *Column) AwaitBounds() { c.provisional = true }

// HasValue says that no row has NULL, as long as main enforces its foreign keys and domains (docs/privacy.md P10c).
func (c *Column) HasValue() bool { return !c.Nullable || c.Filled }

// BaseName spells the column's type; of a domain, the type that it is over.
func (c *Column) BaseName() string {
	switch {
	case pgresolve.LookupType(c.Base) != nil:
		return pgresolve.Qualified(c.Base, c.BaseTypmod)
	case pgresolve.LookupType(c.Type) != nil:
		return pgresolve.Qualified(c.Type, c.Typmod)
	}
	return c.TypeName
}

// KeepOutNull notes that a condition of a WHERE holds for no NULL.
func (c *Column) KeepOutNull() {
	c.Nullable, c.NullBefore = false, c.Nullable || c.NullBefore
}
