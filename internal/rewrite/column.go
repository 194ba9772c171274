package rewrite

import (
	"fmt"
	"math/big"
	"regexp"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// columnOf tells expr what a table's column is.
func (b *builder) columnOf(alias *query.Alias, m *RelationColumn, p *policy.Column) (*expr.Column, error) {
	c := &expr.Column{
		Ref: alias.Column(query.Quote(m.Name)), Name: m.Name, Type: m.Type, Typmod: m.Typmod, TypeName: m.TypeName,
		Nullable: !m.NotNull, Scale: -1, Collation: m.Collation, DeterministicCollation: m.DeterministicCollation || m.Collation == "", Chars: m.Width,
	}
	if c.Typmod == 0 {
		c.Typmod = -1
	}
	base := b.schema.BaseType(m.Type)
	if base != m.Type {
		c.Base, c.BaseTypmod = base, -1
	}
	c.EnumLabels = b.schema.Enums[base]
	if p == nil {
		return c, nil
	}
	c.Domain = p.Values
	if p.ValuesFrom != nil && b.lookup != nil {
		values, err := b.lookup.Distinct(*p.ValuesFrom, b.publicType(*p.ValuesFrom))
		if err != nil {
			return nil, err
		}
		c.Domain = texts(values)
		b.usesDomain(*p.ValuesFrom, values)
	} else if p.ValuesFrom != nil {
		c.Domain = []string{} // known at Plan
	}
	var err error
	switch {
	case p.Bounds != nil:
		c.Bounds, err = boundsOf(base, *p.Bounds)
	case len(p.Valid) > 0:
		c.Bounds, err = boundsOf(base, policy.Bounds{Lo: p.Valid[0].Lo, Hi: p.Valid[len(p.Valid)-1].Hi})
	}
	if err != nil {
		return nil, pgerr.New(pgerr.InternalError, fmt.Sprintf("the policy's bounds of column %s do not fit its type", m.Name))
	}
	return c, nil
}

// publicType is the type of a public column; 0 where main has none of that name.
func (b *builder) publicType(c policy.ColumnOf) uint32 {
	if m := b.schema.Relations[c.Table]; m != nil {
		if column := m.Column(c.Column); column != nil {
			return column.Type
		}
	}
	return 0
}

// texts are values as expr reads them.
func texts(values []Canonical) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}

// boundsOf reads the policy's literals in the column type's canonical units (expr's package comment).
func boundsOf(oid uint32, b policy.Bounds) (expr.Interval, error) {
	lo, err := literalValue(oid, b.Lo)
	if err != nil {
		return expr.Interval{}, err
	}
	hi, err := literalValue(oid, b.Hi)
	return expr.Interval{Lo: lo, Hi: hi}, err
}

func literalValue(oid uint32, text string) (*big.Rat, error) {
	if oid != pgtype.DateOID && !schema.IsTime(oid) {
		r, ok := new(big.Rat).SetString(text)
		if !ok {
			return nil, fmt.Errorf("%q is not a number", text)
		}
		return r, nil
	}
	key := timeLiteral{oid, text}
	if r, ok := timeLiterals.Load(key); ok {
		return r.(*big.Rat), nil
	}
	zone := ""
	if oid == pgtype.TimestamptzOID && !hasZone(text) {
		zone = " UTC"
	}
	tree, err := pg_query.Parse("SELECT " + query.Literal(text+zone) + "::" + typeName(oid))
	if err != nil {
		return nil, err
	}
	e, err := expr.Build(tree.Stmts[0].Stmt.GetSelectStmt().TargetList[0].GetResTarget().Val, &scope{b: &builder{}, rel: &relation{}})
	if err != nil {
		return nil, err
	}
	if b := e.Bounds(); b.Finite() && b.Lo.Cmp(b.Hi) == 0 {
		timeLiterals.Store(key, b.Lo)
		return b.Lo, nil
	}
	return nil, fmt.Errorf("%q is not a time", text)
}

// timeLiterals keeps parsed times of policies: bounds are read at every plan.
var timeLiterals sync.Map

type timeLiteral struct {
	oid  uint32
	text string
}

var zoned = regexp.MustCompile(`(?i)(z|[+-]\d\d(:?\d\d)?|[a-z])$`)

// hasZone says whether a timestamp literal names its time zone; without one it is UTC.
func hasZone(text string) bool { return len(text) > len("2006-01-02") && zoned.MatchString(text) }

// gridStep is a policy grid in canonical units of a type; nil: by type.
func gridStep(oid uint32, grids ...*policy.Grid) *big.Rat {
	for _, g := range grids {
		switch {
		case g == nil:
		case g.Number != "":
			if r, ok := new(big.Rat).SetString(g.Number); ok && schema.IsNumber(oid) {
				return r
			}
		case oid == pgtype.DateOID:
			return big.NewRat(max(1, int64(g.Duration/(24*time.Hour))), 1)
		case schema.IsTime(oid):
			return big.NewRat(max(1, g.Duration.Microseconds()), 1)
		}
	}
	return nil
}
