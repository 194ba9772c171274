package certify

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// collated is an expression under another collation.
//
// Rule: under "default", "C" and each collation that a fact calls deterministic, text and bpchar(n) are exact. Under
// others, what was exact is another value: it tells nothing, is no unit, and equals others by that collation alone.
// Proof: a database's own collation is deterministic; there text compares equal only if its bytes are (varstr_cmp).
func (s *scope) collated(c *pg.CollateClause) (value, error) {
	v, err := s.expr(c.Arg)
	if err != nil {
		return v, err
	}
	n, deterministic, ok := s.collation(c.Collname)
	switch {
	case !ok || !isText(v.typ) || v.typ != "text" && !deterministic || v.array || v.vague:
		return v, missing(c.Location, "collation", "of %s", v.typ)
	case !deterministic && v.equality == n:
		return v, nil
	case !v.exact || !deterministic: // two spellings are one unit, and two texts here; or the other way around
		v.unit, v.ident, v.ofUnit = false, "", v.ofUnit && v.public
	}
	if v.exact, v.collation, v.equality = deterministic && v.typ != "bpchar", n, ""; !deterministic {
		v = value{
			typ: v.typ, span: v.span, notNull: v.notNull, present: v.present, public: v.public, ofUnit: v.ofUnit,
			collation: n, equality: n,
		}
	}
	return v, nil
}

// collation is a name as facts have it, and whether it is deterministic. Those that are not built in are known by the
// columns that have them: a collation is one thing in all of them (pg_collation).
func (s *scope) collation(list []*pg.Node) (n string, deterministic, ok bool) {
	if n, ok := name(list); ok && len(list) == 2 && (n == "default" || n == "C") {
		return map[string]string{"C": `pg_catalog."C"`}[n], true, true
	}
	if len(list) != 2 {
		return "", false, false
	}
	if n = list[0].GetString_().GetSval() + "." + list[1].GetString_().GetSval(); strings.Count(n, ".") != 1 ||
		strings.Contains(n, `"`) {
		return "", false, false // it is of two collations
	}
	for _, t := range s.facts.Tables {
		for _, c := range t.Columns {
			if strings.ReplaceAll(c.Collation, `"`, "") == n && !strings.Contains(c.Collation, `""`) {
				return c.Collation, c.Deterministic, true
			}
		}
	}
	return "", false, false
}

// conflict is the collation of an expression over texts of two that are not the default: comparing it fails, when a row
// comes by.
const conflict = "?"

// merge is the collation of an expression over texts of two: one that is not the default wins (parse_collate.c).
func merge(a, b string) string {
	switch {
	case a == b || b == "":
		return a
	case a == "":
		return b
	}
	return conflict
}
