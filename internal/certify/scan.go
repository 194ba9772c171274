package certify

import (
	"maps"
	"math/big"
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// scan is what is known of rows each of which is made of a row of one table, no two of the same.
type scan struct {
	table string
	rows  *big.Rat          // that a unit has in the table
	names map[*id]string    // of its columns
	parts []map[string]span // each row is within all spans of a part
}

// narrowed is a scan under conditions: where they are true, a column is in the span that refine gives it.
func (c *scan) narrowed(s *scope, on []*pg.Node) *scan {
	if c == nil || len(c.parts) != 1 {
		return c
	}
	part := maps.Clone(c.parts[0])
	for _, n := range on {
		e := n.GetAExpr()
		if e == nil || e.Lexpr == nil {
			continue
		}
		v, err := s.expr(e.Lexpr)
		var r span
		ok := false
		for _, known := range s.refine(n, true) {
			if same(known.of, e.Lexpr) {
				r, ok = known.span, true
			}
		}
		if name := c.names[v.id]; ok && err == nil && name != "" && !r.nan {
			old := part[name]
			if r.hi = least(r.hi, old.hi); r.lo == nil || old.lo != nil && old.lo.Cmp(r.lo) > 0 {
				r.lo = old.lo
			}
			part[name] = r
		}
	}
	return &scan{c.table, c.rows, c.names, []map[string]span{part}}
}

// beside is a scan and another one, if no row is in both.
//
// Rule: of one table, and of each part of the one and of the other some column's spans are apart. Proof: a row has one
// value there.
func (c *scan) beside(o *scan) *scan {
	if c == nil || o == nil || c.table != o.table {
		return nil
	}
	for _, a := range c.parts {
		for _, b := range o.parts {
			apart := func(name string) bool {
				return bounds{lo: a[name].lo, hi: a[name].hi}.apart(bounds{lo: b[name].lo, hi: b[name].hi})
			}
			if !slices.ContainsFunc(slices.Collect(maps.Keys(a)), apart) {
				return nil
			}
		}
	}
	return &scan{table: c.table, rows: c.rows, parts: append(slices.Clone(c.parts), o.parts...)}
}
