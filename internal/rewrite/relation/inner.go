package relation

import (
	"slices"

	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// JoinGraph collects the items of inner joins, of a FROM list or below a JOIN, until the graph is solved as a whole.
type JoinGraph struct {
	Items      []*Relation
	Columns    []*Column    // in the order that * shows them
	Conditions []*expr.Expr // of ON, USING and NATURAL
	Equal      Equalities
}

func (j *JoinGraph) Add(o *JoinGraph) {
	j.Items = append(j.Items, o.Items...)
	j.Columns = append(j.Columns, o.Columns...)
	j.Conditions = append(j.Conditions, o.Conditions...)
	j.Equal.Merge(o.Equal)
}

// AsRelation gives the items as one relation, to resolve names and to find the kind of unit.
func (j *JoinGraph) AsRelation() *Relation {
	r := &Relation{Columns: j.Columns}
	for _, item := range j.Items {
		r.public.add(item.publicPart())
		if item.Private() && !r.Private() {
			r.Unit, r.ToUnit, r.UnitName = item.Unit, item.ToUnit, item.UnitName
		} else if item.Private() {
			r.open = true
		}
	}
	return r
}

// SolveJoins makes one relation of the items of inner joins. where adds what the WHERE clause equates and compares,
// which joins as ON does.
//
// Every private item has to have the same unit as the others in every joined row (docs/privacy.md P4). Rows per unit
// multiply, except for items of which a unique index lets through at most one row per row of the others.
func (b *Base) SolveJoins(j *JoinGraph, where *Equalities) (*Relation, error) {
	equal := j.Equal
	if where != nil {
		equal.Merge(*where)
	}
	out := j.Items[0]
	var ties []query.Scalar
	if len(j.Items) > 1 {
		if slices.ContainsFunc(j.Items, func(r *Relation) bool { return r.Preserved != nil }) {
			if err := b.solvePreserved(j, equal); err != nil {
				return nil, err
			}
			return b.SolveJoins(j, where)
		}
		class := equal.classes()
		var err error
		if ties, err = b.sameUnit(j.Items, class); err != nil {
			return nil, err
		}
		if out, err = b.combine(j, class, &equal); err != nil {
			return nil, err
		}
	}
	out.public = out.public.equating(equal.pairs)
	b.NoteConditions(j.Conditions)
	out.AddFilterWork(j.Items, j.Conditions)
	out.Columns = append(j.Columns, hiddenColumns(out, j.Columns)...)
	out.Where = slices.Concat(out.Where, expr.Conjuncts(j.Conditions...), ties)
	out.Conditions = append(out.Conditions, j.Conditions...)
	return out, nil
}

// combine orders the items so that the fewest factors multiply the rows per unit, and joins them.
func (b *Base) combine(j *JoinGraph, class map[*Column]int, equal *Equalities) (*Relation, error) {
	var best *Relation
	var perUnit map[*Column]bool
	var failed error
	for i, root := range j.Items {
		if root.Lateral || !root.Private() && hasPrivate(j.Items) {
			continue
		}
		r, facts, err := b.combineFrom(j, i, class, equal)
		if err != nil {
			failed = err
		} else if best == nil || r.MaxRowsPerUnit < best.MaxRowsPerUnit || r.MaxRowsPerUnit == best.MaxRowsPerUnit &&
			(r.Proven && !best.Proven || r.Proven == best.Proven && len(best.Unique) == 0 && len(r.Unique) > 0) {
			best, perUnit = r, facts
		}
		if best != nil && best.Private() && best.MaxRowsPerUnit == 1 && best.Proven && len(best.Unique) > 0 {
			break // none is better
		}
	}
	if best == nil {
		return nil, failed
	}
	for c, v := range perUnit { // what another order would make of the columns rests on proofs that this one has not
		c.PerUnit = v || c.IsUnit
	}
	return best, nil
}

// joinSteps is what it takes to look at one more item of a join.
const joinSteps = 8

// combineFrom joins the items in the order that starts with one of them: each next one is found by a unique set where
// there is one. perUnit says which columns are functions of the unit in that order.
func (b *Base) combineFrom(j *JoinGraph, start int, class map[*Column]int, equal *Equalities) (
	_ *Relation, perUnit map[*Column]bool, err error,
) {
	items := slices.Clone(j.Items)
	root := items[start]
	out := &Relation{
		Unit: root.Unit, UnitColumns: slices.Clone(root.UnitColumns), UnitName: root.UnitName,
		MaxRowsPerUnit: root.MaxRowsPerUnit, Proven: root.Proven, RowsOf: root.RowsOf, MaxRows: root.MaxRows,
		publicRows: root.publicRows, Steps: root.Steps, Unique: slices.Clone(root.Unique), Order: root.Order,
		OrderProofs: root.OrderProofs,
	}
	perUnit = map[*Column]bool{}
	there := []*Relation{root}
	left := slices.Delete(slices.Clone(items), start, start+1)
	for len(left) > 0 {
		known := knownClasses(class, there...)
		equated := func(r *Relation) map[*Column]bool {
			b.Take(joinSteps)
			return equal.tied(r, class, known, there...)
		}
		next, set, ofUnit := pickItem(left, equated, out)
		r := left[next]
		if set == nil && out.Private() && r.mayMultiply() {
			if r, err = b.boundMultiplicity(r, equated(r), slices.Concat(j.Conditions, equal.Ordered), there...); err != nil {
				return nil, nil, err
			}
			items[slices.Index(items, left[next])] = r
		}
		if set != nil && !ofUnit && !r.Private() && !r.Lateral {
			ofUnit = set.within(equal.equated(r, class, functionsOfUnit(there, perUnit)))
		}
		out.addJoinWork(r, set)
		out.multiply(r, set)
		if set == nil || !ofUnit {
			for _, c := range r.Columns {
				perUnit[c] = c.PerUnit && r.Private() && !r.Lateral
			}
		}
		if ofUnit && set != nil {
			for _, c := range r.Columns {
				perUnit[c] = true
			}
		}
		there = append(there, r)
		left = slices.Delete(left, next, next+1)
	}
	same := knownClasses(class, functionsOfUnit(there, perUnit))
	for c, n := range class {
		if same[n] && within([]*Column{c}, there...) && c.hasOneText() {
			perUnit[c] = true
		}
	}
	out.takeParts(items, root)
	return out, perUnit, nil
}

// hasOneText says that equal values of a column have one text.
func (c *Column) hasOneText() bool {
	text, err := CanonicalText(c.Value.Ref, c.Value)
	return err == nil && query.Equal(text, c.Value.Ref)
}

// functionsOfUnit has the columns of joined items that are functions of the unit.
func functionsOfUnit(items []*Relation, perUnit map[*Column]bool) *Relation {
	r := &Relation{}
	for i, item := range items {
		for _, c := range item.Columns {
			if !item.Lateral && (perUnit[c] || c.IsUnit || i == 0 && c.PerUnit) {
				r.Columns = append(r.Columns, c)
			}
		}
	}
	return r
}

// takeParts gives the join of items what they consist of, in their order; r has the unit columns of root.
func (r *Relation) takeParts(items []*Relation, root *Relation) {
	var from query.Product
	var inputs []PlanNode
	for _, o := range items {
		from, inputs = append(from, o.From), append(inputs, o.Plan)
		r.Where = append(r.Where, o.Where...)
		r.Conditions = append(r.Conditions, o.Conditions...)
		r.Columns = append(r.Columns, o.Columns...)
		r.Tables = append(r.Tables, o.Tables...)
		r.Proofs = append(r.Proofs, o.Proofs...)
		r.Correlated = append(r.Correlated, o.Correlated...)
		r.public.add(o.publicPart())
		r.Empty = r.Empty || o.Empty
		if o != root {
			r.UnitColumns = append(r.UnitColumns, o.UnitColumns...)
		}
	}
	r.From, r.Plan = from, NewPlanNode("join, "+r.RowBound(), inputs...)
}

// pickItem takes an item that adds no row if there is one, and a lateral one after all that it may read. ofUnit says
// that what it adds is a function of the unit.
func pickItem(left []*Relation, equated func(*Relation) map[*Column]bool, out *Relation) (next int, set *UniqueSet,
	ofUnit bool,
) {
	for i, r := range left {
		if r.Lateral && i > 0 {
			continue
		}
		covered := equated(r)
		if out.Private() && r.Private() {
			for _, c := range r.UnitColumns {
				covered[c] = true // equal by sameUnit
			}
		}
		if set := r.UniqueOver(covered); set != nil {
			return i, set, out.MaxRowsPerUnit == 1 && out.Proven || onUnit(set, r) && !r.Lateral
		}
	}
	for i, r := range left {
		if r.MaxRowsPerUnit > 0 && (!r.Lateral || i == 0) {
			return i, nil, false
		}
	}
	return 0, nil, false
}

func onUnit(set *UniqueSet, r *Relation) bool {
	return len(set.Columns) == 1 && slices.Contains(r.UnitColumns, set.Columns[0])
}

// multiply accounts for one more item; set is the unique set that lets at most one of its rows through, nil for none.
func (r *Relation) multiply(o *Relation, set *UniqueSet) {
	if !r.Private() && o.Private() {
		r.Unit, r.UnitName, r.MaxRowsPerUnit, r.Proven = o.Unit, o.UnitName, o.MaxRowsPerUnit, o.Proven
		r.UnitColumns, r.RowsOf = append(r.UnitColumns, o.UnitColumns...), o.RowsOf
		r.Unique, r.Order, r.MaxRows = nil, nil, 0
		return
	}
	if set != nil {
		if set.Proof != nil {
			r.Proofs = append(r.Proofs, *set.Proof)
		}
		return
	}
	single := r.MaxRowsPerUnit == 1 && r.Proven
	if single && o.Private() {
		r.RowsOf = o.RowsOf
	}
	r.MaxRows = mostJoined(r, o)
	r.MaxRowsPerUnit, r.publicRows = saturatingMul(r.MaxRowsPerUnit, o.MaxRowsPerUnit),
		saturatingMul(r.publicRows, o.publicRows)
	r.Proven = r.Proven && o.Proven
	r.Unique = nil
	if single {
		r.Unique = r.uniquePerUnit(o)
	}
	if r.Order == nil || o.Order == nil {
		r.Order = nil
	} else {
		r.Order = append(slices.Clone(r.Order), o.Order...)
		r.OrderProofs = append(slices.Clone(r.OrderProofs), o.OrderProofs...)
	}
}

// uniquePerUnit has unique sets of the join with o of a relation of which each unit has one row at most.
func (r *Relation) uniquePerUnit(o *Relation) []UniqueSet {
	if o.Private() || !r.Private() {
		return o.Unique
	}
	if len(r.UnitColumns) == 0 {
		return nil
	}
	var sets []UniqueSet
	for _, set := range o.Unique {
		sets = append(sets, UniqueSet{append(slices.Clone(set.Columns), r.UnitColumns[0]), set.Proof})
	}
	return sets
}

// mostJoined bounds the rows of an inner join: each row of one side meets as many of the other as a unit has there. 0:
// no bound is known.
func mostJoined(r, o *Relation) int64 {
	most := saturatingMul(r.MaxRows, o.MaxRowsPerUnit)
	if o.Private() && !o.Lateral && o.MaxRows > 0 {
		if other := saturatingMul(o.MaxRows, r.MaxRowsPerUnit); most == 0 || other < most {
			most = other
		}
	}
	return most
}
