package profile

import (
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/ask"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// mostRows is the most rows of one unit that are looked at, unless the policy says more.
const mostRows = 10_000

// mostSteps bounds numbers, in grid steps on each side: the sums of mostRows of them are 64-bit integers.
var mostSteps = new(big.Rat).SetInt64(1 << 48)

// wide is the policy to profile with: every private table has bounds that follow from its types, not from the policy,
// and a unit counts with one group. What an analyst may ask is not in it.
func wide(p *policy.Policy, s *rewrite.Schema, epsilon float64) *policy.Policy {
	w := ask.As(policy.ProfileAccount, p, *p.ProfileBudget(), epsilon)
	w.Tables = nil
	for _, t := range p.Tables {
		if t.Public {
			w.Tables = append(w.Tables, t)
			continue
		}
		c := *t
		c.MaxRowsPerUnit, c.MaxRowsPerGroup, c.MaxGroupsPerUnit = max(t.MaxRowsPerUnit, mostRows), 0, 1
		c.Epsilon, c.EpsilonMax, c.Mechanism = epsilon, epsilon, mechanism.Choice{}
		c.LeftOut, c.Grid, c.Columns = nil, nil, nil
		for _, column := range t.Columns {
			wider := &policy.Column{Name: column.Name}
			if r := s.Relations[t.Name]; r != nil && r.Column(column.Name) != nil {
				if baseType(s, r.Column(column.Name)) == pgtype.IntervalOID {
					wider.Bounds, wider.Grid = &policy.Bounds{Lo: "-" + longest, Hi: longest}, &policy.Grid{Duration: time.Second}
				}
				if g, ok := timesOf(s, r.Column(column.Name)); ok && g.ends != nil {
					last := g.ends[len(g.ends)-1][:len(time.DateOnly)]
					wider.Bounds, wider.Outside = &policy.Bounds{Lo: g.values[0], Hi: last}, new(float64) // groups are cut
				}
				if n := numberOf(s, r.Column(column.Name), column); n != nil {
					wider.Bounds = &policy.Bounds{Lo: "-" + decimal(n.most), Hi: decimal(n.most)}
					wider.Grid = &policy.Grid{Number: decimal(power(-n.scale))}
					wider.Outside = new(float64) // what sums count with ends long before, and so do the bounds that are found
				}
			}
			c.Columns = append(c.Columns, wider)
		}
		w.Tables = append(w.Tables, &c)
	}
	return w
}

// number says what numbers a column is looked at for: multiples of 10^-scale up to most. All of it is public.
type number struct {
	scale int
	exact bool // the type has no others
	most  *big.Rat
	array uint32
}

// baseType is the type that a domain is over.
func baseType(s *rewrite.Schema, c *rewrite.RelationColumn) uint32 {
	oid := c.Type
	for s.Types[oid].Kind == 'd' {
		oid = s.Types[oid].Base
	}
	return oid
}

// numberOf returns nil for a type that is none of numbers.
func numberOf(s *rewrite.Schema, c *rewrite.RelationColumn, declared *policy.Column) *number {
	switch baseType(s, c) {
	case pgtype.Int2OID:
		return &number{0, true, big.NewRat(1<<15-1, 1), pgtype.NumericArrayOID}
	case pgtype.Int4OID:
		return &number{0, true, big.NewRat(1<<31-1, 1), pgtype.NumericArrayOID}
	case pgtype.Int8OID:
		return &number{0, true, mostSteps, pgtype.NumericArrayOID}
	case pgtype.Float4OID, pgtype.Float8OID:
		return anyNumber(declared, pgtype.Float8ArrayOID)
	case pgtype.NumericOID:
		precision, scale := int(c.Typmod-4)>>16, int(c.Typmod-4)&0x7ff
		if c.Typmod < 4 || c.Type != pgtype.NumericOID || scale > 6 || scale > precision {
			return anyNumber(declared, pgtype.NumericArrayOID)
		}
		most := power(precision - scale)
		if l := new(big.Rat).Mul(mostSteps, power(-scale)); l.Cmp(most) < 0 {
			most = l
		}
		return &number{scale, true, most, pgtype.NumericArrayOID}
	}
	return nil
}

// anyDigits are the decimal digits that a type without a scale is looked at with.
const anyDigits = 12

// anyNumber takes the size of numbers whose type has none from the declared bounds, with three digits of room; without
// bounds, a billion.
func anyNumber(declared *policy.Column, array uint32) *number {
	digits := 9
	if b := declared.Bounds; b != nil {
		digits = 3 - anyDigits/2
		for _, end := range []string{b.Lo, b.Hi} {
			if x, ok := new(big.Rat).SetString(end); ok {
				for x.Abs(x).Cmp(power(digits-3)) > 0 && digits < 15 {
					digits++
				}
			}
		}
	}
	return &number{anyDigits - digits, false, power(digits), array}
}

// timesOf returns the grid of a time, or false.
func timesOf(s *rewrite.Schema, c *rewrite.RelationColumn) (grid, bool) {
	switch baseType(s, c) {
	case pgtype.DateOID:
		return monthGrid(pgtype.DateArrayOID), true
	case pgtype.TimestampOID:
		return monthGrid(pgtype.TimestampArrayOID), true
	case pgtype.TimestamptzOID:
		return monthGrid(pgtype.TimestamptzArrayOID), true
	case pgtype.TimeOID:
		return clockGrid(), true
	case pgtype.IntervalOID:
		return durationGrid(), true
	}
	return grid{}, false
}

// isText reports whether a column is of a text that may have few values.
func isText(s *rewrite.Schema, c *rewrite.RelationColumn) bool {
	ok := slices.Contains([]uint32{pgtype.TextOID, pgtype.VarcharOID, pgtype.BPCharOID}, baseType(s, c))
	return ok && (c.Collation == "" || c.DeterministicCollation)
}

// keys are the columns of a table that tell rows or units apart: nobody adds them up.
func keyColumns(p *policy.Policy, s *rewrite.Schema, t *policy.Table) map[string]bool {
	keys := map[string]bool{}
	if t.Unit.Via != nil {
		keys[t.Unit.Via.Column] = true
	} else {
		keys[t.Unit.Column] = true
	}
	for _, other := range p.Tables {
		if other.Unit != nil && other.Unit.Via != nil && other.Unit.Via.References == t.Name {
			keys[other.Unit.Via.ReferencesColumn] = true
		}
	}
	if r := s.Relations[t.Name]; r != nil {
		for _, unique := range r.Unique {
			if len(unique) == 1 {
				keys[unique[0]] = true
			}
		}
	}
	return keys
}

// refers reports whether a number names rows: by a key, or as an integer of the name that is unique in another table,
// as where foreign keys are on partitions.
func refers(s *rewrite.Schema, r *rewrite.Relation, c *rewrite.RelationColumn) bool {
	column := c.Name
	if slices.Contains(r.PrimaryKey, column) || foreign(r, column) {
		return true
	}
	if c.Type != pgtype.Int2OID && c.Type != pgtype.Int4OID && c.Type != pgtype.Int8OID {
		return false
	}
	for _, other := range s.Relations {
		if slices.ContainsFunc(other.Unique, func(u []string) bool { return len(u) == 1 && u[0] == column }) {
			return true
		}
	}
	return false
}

// foreign reports whether a foreign key begins at a column.
func foreign(r *rewrite.Relation, column string) bool {
	return slices.ContainsFunc(r.Foreign, func(k rewrite.ForeignKey) bool { return k.Column == column })
}

// oneRow reports whether a unique index proves that a unit has one row.
func oneRow(s *rewrite.Schema, t *policy.Table) bool {
	r := s.Relations[t.Name]
	return r != nil && t.Unit.Via == nil && !r.Inherits && slices.ContainsFunc(r.Unique, func(u []string) bool {
		return len(u) == 1 && u[0] == t.Unit.Column
	})
}

// unknownTable is the error for --table.
func unknownTable(name string) error {
	return fmt.Errorf("table %q is not a private table of the policy", name)
}
