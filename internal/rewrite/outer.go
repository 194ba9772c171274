package rewrite

import (
	"fmt"
	"slices"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
)

// outerJoin makes the relation of a LEFT, RIGHT or FULL join (PRIVACY 3 to 5).
func (b *builder) outerJoin(n *pg_query.Node, kind pg_query.JoinType, l, r *relation, conds []*expr.Expr, equal equalities, using []string) (*relation, error) {
	shown := append(slices.Clone(l.cols), r.cols...)
	if kind == pg_query.JoinType_JOIN_RIGHT {
		l, r = r, l
	}
	if l.preserved != nil || r.preserved != nil {
		return nil, errPreserved
	}
	if kind != pg_query.JoinType_JOIN_FULL && !l.private() && r.private() {
		return b.publicLeftJoin(n, l, r, conds, equal, shown, using)
	}
	if kind == pg_query.JoinType_JOIN_FULL && l.private() != r.private() {
		return nil, b.refuse(pgerr.FeatureNotSupported, n, "an outer join that keeps the rows of a public table cannot be counted",
			"Use an inner join: GROUP BY a declared domain returns every key, empty ones too.")
	}
	class := equal.classes()
	if l.private() && r.private() {
		if err := b.sameUnitOuter(kind, l, r, class); err != nil {
			return nil, err
		}
	}
	covered := map[*column]bool{}
	for _, c := range r.cols {
		if class[c] != 0 && slices.ContainsFunc(l.cols, func(d *column) bool { return class[d] == class[c] }) {
			covered[c] = true
		}
	}
	if l.private() && r.private() {
		for _, c := range r.unitCols {
			covered[c] = true
		}
	}
	set := r.uniqueOver(covered)
	if l.private() && r.rows == 0 && set == nil {
		return nil, b.refuse(pgerr.FeatureNotSupported, n, fmt.Sprintf("the join with public table %s may multiply private rows", itemName(r)), "Join public tables on their primary key or another unique key.")
	}
	if kind == pg_query.JoinType_JOIN_FULL {
		return b.fullJoin(l, r, conds, shown, using)
	}
	out := &relation{
		unit: l.unit, unitCols: l.unitCols, kind: l.kind, rows: l.rows, proven: l.proven, max: l.max, unique: slices.Clone(l.unique), order: l.order, orderProofs: l.orderProofs,
		empty: l.empty, where: l.where, conds: l.conds, cols: shown, tables: append(slices.Clone(l.tables), r.tables...), proofs: append(slices.Clone(l.proofs), r.proofs...),
	}
	out.multiply(r, set)
	on := append(expr.Conjuncts(conds...), r.where...)
	if r.empty {
		on = append(on, "FALSE")
	}
	if len(on) == 0 {
		on = []string{"TRUE"}
	}
	out.from = fmt.Sprintf("(%s LEFT JOIN %s ON (%s))", l.from, r.from, strings.Join(on, " AND "))
	out.cols = append(out.cols, append(hiddenColumns(l, shown), hiddenColumns(r, shown)...)...)
	nullExtend(r.cols)
	out.hideMerged(using, r)
	out.lines = append([]string{"left join, " + out.rowBound()}, append(indent(l.lines), indent(r.lines)...)...)
	return out, nil
}

// publicLeftJoin is public LEFT JOIN private (PRIVACY 5): the inner join is measured, and the block that groups by the public
// table's key returns every key. newBlock holds the analyst to that.
func (b *builder) publicLeftJoin(n *pg_query.Node, l, r *relation, conds []*expr.Expr, equal equalities, shown []*column, using []string) (*relation, error) {
	class := equal.classes()
	covered := map[*column]bool{}
	for _, c := range l.cols {
		covered[c] = class[c] != 0 && slices.ContainsFunc(r.cols, func(d *column) bool { return class[d] == class[c] })
	}
	set := l.uniqueOver(covered)
	if set == nil || len(set.cols) != 1 || len(l.tables) != 1 || len(l.where) > 0 {
		return nil, b.refuse(pgerr.FeatureNotSupported, n, "this outer join keeps the rows of a public table, and its condition is not on that table's unique key",
			"Join one public table on its primary key and group by that key, or use an inner join.")
	}
	if err := b.reach(r); err != nil {
		return nil, err
	}
	out := *r
	out.preserved = set.cols[0]
	out.cols = append(slices.Clone(shown), append(hiddenColumns(l, shown), hiddenColumns(r, shown)...)...)
	out.from = fmt.Sprintf("(%s CROSS JOIN %s)", l.from, r.from)
	out.where = append(slices.Clone(r.where), expr.Conjuncts(conds...)...)
	out.conds = append(slices.Clone(r.conds), conds...)
	out.tables = append(slices.Clone(r.tables), l.tables...)
	out.proofs = slices.Clone(r.proofs)
	if set.proof != nil {
		out.proofs = append(out.proofs, *set.proof)
	}
	out.hideMerged(using, r)
	out.lines = append([]string{"left join that keeps public rows, " + out.rowBound()}, append(indent(l.lines), indent(r.lines)...)...)
	return &out, nil
}

// preservedKeys holds a block over such a join to its form: grouped by the public key, and nothing else.
func (b *builder) preservedKeys(k *block) error {
	if k.src.preserved == nil {
		return nil
	}
	if len(k.keys) == 1 {
		if c := k.keys[0].Column(); c != nil && c.Source == any(k.src.preserved) {
			return nil
		}
	}
	return pgerr.New(pgerr.FeatureNotSupported, "an outer join that keeps the rows of a public table has to be grouped by that table's key alone",
		pgerr.Hint("GROUP BY %s, or use an inner join.", k.src.preserved.name))
}

// sameUnitOuter is sameUnit where a side's rows may stay without a partner: there the other side's unit is NULL, so a side
// that is kept reaches its unit by a join of its own.
func (b *builder) sameUnitOuter(kind pg_query.JoinType, l, r *relation, class map[*column]int) error {
	kept := []*relation{l}
	if kind == pg_query.JoinType_JOIN_FULL {
		kept = append(kept, r)
	}
	chains := make([]*chain, len(kept))
	for i, side := range kept {
		chains[i] = side.chain
	}
	before := []string{l.from, r.from}
	if err := b.sameUnit([]*relation{l, r}, class); err != nil {
		return err
	}
	for i, side := range kept {
		if chains[i] == nil || side.from != before[i] {
			continue
		}
		side.unit, side.chain = "", chains[i]
		if err := b.reach(side); err != nil {
			return err
		}
	}
	return nil
}

// nullExtend makes columns those of an outer join's optional side: nullable, and no unit any more (PRIVACY 4).
func nullExtend(cols []*column) {
	for _, c := range cols {
		c.x.Nullable, c.isUnit, c.perUnit, c.x.Unit = true, false, false, false
	}
}

// hideMerged leaves one of the two columns of USING visible: that of the preserved side.
func (r *relation) hideMerged(using []string, optional *relation) {
	for _, name := range using {
		for _, c := range optional.cols {
			if c.name == name {
				c.hidden = true
			}
		}
	}
}

// fullJoin keeps both sides' rows: a unit has at most max(a·b, a+b). Both sides become derived tables, so that their
// conditions stay theirs.
func (b *builder) fullJoin(l, r *relation, conds []*expr.Expr, shown []*column, using []string) (*relation, error) {
	if !l.private() {
		return nil, pgerr.New(pgerr.FeatureNotSupported, "a FULL JOIN of public tables cannot stand beside private tables")
	}
	if len(using) > 0 {
		return nil, pgerr.New(pgerr.FeatureNotSupported, "FULL JOIN with USING or NATURAL is not supported over private tables", pgerr.Hint("Write ON a.column = b.column, and COALESCE(a.column, b.column) for the merged column."))
	}
	if l.empty || r.empty {
		return nil, pgerr.New(pgerr.FeatureNotSupported, "FULL JOIN with a side that is always empty is not supported")
	}
	if len(l.where)+len(r.where) > 0 && (strings.HasPrefix(l.from, "(") || strings.HasPrefix(r.from, "(")) {
		return nil, pgerr.New(pgerr.FeatureNotSupported, "FULL JOIN of joins or subqueries is not supported over private tables", pgerr.Hint("Join two tables, or use UNION ALL."))
	}
	out := &relation{kind: l.kind, cols: shown, proven: l.proven && r.proven, tables: append(slices.Clone(l.tables), r.tables...), proofs: append(slices.Clone(l.proofs), r.proofs...)}
	out.rows = max(saturatingMul(l.rows, r.rows), l.rows+r.rows)
	out.unit = fmt.Sprintf("COALESCE(%s, %s)", l.unit, r.unit)
	out.from = fmt.Sprintf("(%s FULL JOIN %s ON (%s))", filtered(l), filtered(r), strings.Join(expr.Conjuncts(conds...), " AND "))
	nullExtend(l.cols)
	nullExtend(r.cols)
	out.where = []string{fmt.Sprintf("(%s IS NOT NULL)", out.unit)}
	out.lines = append([]string{"full join, " + out.rowBound()}, append(indent(l.lines), indent(r.lines)...)...)
	return out, nil
}

// filtered is a single table with its conditions, under its own alias.
func filtered(r *relation) string {
	if len(r.where) == 0 {
		return r.from
	}
	alias := r.from[strings.LastIndex(r.from, " AS ")+len(" AS "):]
	refs := []string{}
	for _, c := range r.cols {
		refs = append(refs, c.x.Ref)
	}
	return fmt.Sprintf("(SELECT %s FROM %s WHERE %s) AS %s", strings.Join(refs, ", "), r.from, strings.Join(r.where, " AND "), alias)
}
