package relation

import (
	"slices"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// branch is a part of a UNION ALL. One that scans a table has rows of that table, each at most once, and those fulfil
// its conditions.
type branch struct {
	rows   int64 // of one unit
	proven bool

	table       policy.Name // scanned; zero: no more is known
	as          *query.Alias
	tableRows   int64 // of one unit in the whole table
	tableProven bool
	conditions  []*expr.Expr  // that read columns of the scan alone
	claims      *expr.Scanned // what they say, once it is asked for
}

// scanned notes that the relation is a scan of a table. What is read of a foreign table, or of a partition that is one,
// is not known to be the table's own rows, compared by the rules of the declared types; and where each of several scans
// reads rows as of a moment of its own, one row may be in two of them.
func (r *Relation) scanned(t *policy.Table, as *query.Alias, foreign bool) {
	if r.Private() && !foreign {
		r.branches = [][]*branch{{{table: t.Name, as: as, tableRows: r.MaxRowsPerUnit, tableProven: r.Proven}}}
	}
}

// parts gives the branches that the relation's rows are of, those together that exclude each other.
func (r *Relation) parts() [][]*branch {
	switch {
	case len(r.branches) == 0:
		return [][]*branch{{{rows: r.MaxRowsPerUnit, proven: r.Proven}}}
	case len(r.branches) > 1 || len(r.branches[0]) > 1:
		return r.branches
	}
	one := *r.branches[0][0]
	one.rows, one.proven = r.MaxRowsPerUnit, r.Proven
	one.conditions = slices.Clone(one.conditions)
	for _, c := range r.Conditions {
		if one.reads(c) {
			one.conditions = append(one.conditions, c)
		}
	}
	one.claims = nil
	return [][]*branch{{&one}}
}

// reads says that a condition reads columns of the scan and nothing else.
func (b *branch) reads(c *expr.Expr) bool {
	own := func(x *expr.Column) bool {
		ref, ok := x.Ref.(query.Column)
		return ok && ref.Of == b.as
	}
	return !c.HasSubquery() && !slices.ContainsFunc(c.Columns(), func(x *expr.Column) bool { return !own(x) })
}

// excludes says that no row of a table is in both branches.
func (b *branch) excludes(o *branch) bool {
	return b.as != nil && o.as != nil && b.table == o.table && b.scanned().Excludes(o.scanned())
}

// scanned reads the branch's conditions, once.
func (b *branch) scanned() expr.Scanned {
	if b.claims == nil {
		read := expr.ScanOf(b.conditions)
		b.claims = &read
	}
	return *b.claims
}

// OneRow is the one row that each unit has at most in a table, which main proves, where a relation scans it.
type OneRow struct{ scan *branch }

// OneRow is nil where the relation's rows are not known to be such rows.
func (r *Relation) OneRow() *OneRow {
	parts := r.parts()
	if one := parts[0][0]; len(parts) == 1 && len(parts[0]) == 1 && one.as != nil && one.tableRows == 1 &&
		one.tableProven {
		return &OneRow{one}
	}
	return nil
}

// Excludes says that two relations have rows of one table, and no row of it is in both.
func (r *OneRow) Excludes(o *OneRow) bool { return r != nil && o != nil && r.scan.excludes(o.scan) }

// boundOf bounds the rows that all branches have of one unit. Branches that exclude each other have, together, rows of
// their table each at most once: no more than the table has, and proven if that is (docs/privacy.md P8).
func boundOf(groups [][]*branch) (rows int64, proven bool) {
	proven = true
	for i, g := range groups {
		sum, all := g[0].rows, g[0].proven
		for _, b := range g[1:] {
			sum, all = saturatingAdd(sum, b.rows), all && b.proven
		}
		if t := g[0]; len(g) > 1 && t.tableRows < sum && (t.tableProven || !all) {
			sum, all = t.tableRows, t.tableProven
		}
		if i > 0 {
			sum = saturatingAdd(rows, sum)
		}
		rows, proven = sum, proven && all
	}
	return rows, proven
}

// together adds groups of branches to others, each to the first that it excludes all of. Over a whole UNION ALL,
// however it is nested, two branches meet once.
func (b *Base) together(groups, more [][]*branch) [][]*branch {
	groups = slices.Clone(groups)
	for _, g := range more {
		i := slices.IndexFunc(groups, func(o []*branch) bool {
			b.Take(len(o) * len(g))
			return excludeAll(o, g)
		})
		if i < 0 {
			groups = append(groups, g)
		} else {
			groups[i] = slices.Concat(groups[i], g)
		}
	}
	return groups
}

// excludeAll says that every branch of one group excludes every branch of the other.
func excludeAll(a, b []*branch) bool {
	return !slices.ContainsFunc(a, func(p *branch) bool {
		return slices.ContainsFunc(b, func(q *branch) bool { return !p.excludes(q) })
	})
}

// unite makes the relation the UNION ALL of two, as far as rows of one unit go.
func (b *Base) unite(r, l, o *Relation) {
	r.MaxRowsPerUnit, r.Proven = saturatingAdd(l.MaxRowsPerUnit, o.MaxRowsPerUnit), l.Proven && o.Proven
	if !l.Private() {
		return
	}
	r.branches = b.together(l.parts(), o.parts())
	if rows, proven := boundOf(r.branches); rows < r.MaxRowsPerUnit && (proven || !r.Proven) {
		r.MaxRowsPerUnit, r.Proven = rows, proven
	}
}
