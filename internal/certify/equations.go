package certify

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// pair says that two values are equal in every row that is left.
type pair struct {
	a, b  value
	bytes bool // and exact: equal values are one value
	same  bool // and of one type, so they have one spelling
	nulls bool // or both are NULL
}

// determined says that a column equals what is computed of some columns.
type determined struct {
	of   *id
	uses []*id
}

// tie says that rows which columns are of are of one unit; whose both sides are units, that they have one.
type tie struct {
	a, b  []*id
	units bool
}

// equations is what conditions say in conjunction.
type equations struct {
	pairs   []pair
	made    []determined
	ties    []tie
	lists   [][]meeting // of each factor
	fixed   []*id       // columns that equal a constant
	present []*id       // columns that are not NULL
}

// nullSafe is what = of two columns that may be NULL is printed as: two conditions.
var nullSafeA, nullSafeB = newForm(`(_a IS NULL) OPERATOR(pg_catalog.=) (_b IS NULL)`),
	newForm(`COALESCE(_a, _c) OPERATOR(pg_catalog.=) COALESCE(_b, _c)`)

// equations reads the conditions that equate columns.
//
// Rule: a = b of columns, both exact and of one type or both integers, makes them equal and not NULL; (a IS NULL) = (b
// IS NULL) AND COALESCE(a, c) = COALESCE(b, c), equal or both NULL. A column that equals an expression is a function of
// its columns. Proof: of the second, COALESCE gives both if neither is NULL. Text whose equality is coarser than its
// bytes is left out, as an index may see it another way; numbers and intervals have one equality for indexes, GROUP BY
// and = (the default operator class).
func (c *checker) equations(items []item, on []*pg.Node, outer *scope) (equations, *scope) {
	s := &scope{checker: c, outer: outer, items: items}
	eq := equations{}
	var halves []holes
	for _, n := range on {
		if h := nullSafeA.of(n); h != nil {
			halves = append(halves, h)
		}
		if t := n.GetNullTest(); t != nil && t.Nulltesttype == pg.NullTestType_IS_NOT_NULL {
			if v, err := s.expr(t.Arg); err == nil && v.id != nil {
				eq.present = append(eq.present, v.id)
			}
		}
		e := n.GetAExpr()
		if e == nil || e.Kind != pg.A_Expr_Kind_AEXPR_OP || e.Lexpr == nil {
			continue
		}
		if op, ok := name(e.Name); !ok || op != "=" {
			continue
		}
		a, usesA, errA := s.used(bare(e.Lexpr))
		b, usesB, errB := s.used(bare(e.Rexpr))
		if errA != nil || errB != nil || !eq.add(a, b, e.Lexpr, e.Rexpr, false) {
			continue
		}
		if a.id != nil && b.id == nil {
			eq.made, eq.present = append(eq.made, determined{a.id, usesB}), append(eq.present, a.id)
		}
		if b.id != nil && a.id == nil {
			eq.made, eq.present = append(eq.made, determined{b.id, usesA}), append(eq.present, b.id)
		}
	}
	for _, n := range on {
		if a, b, ok := s.alike(n); ok {
			if slices.ContainsFunc(halves, func(o holes) bool { return s.is(o["_a"], a.id) && s.is(o["_b"], b.id) }) {
				eq.add(a, b, n, n, true)
			}
			continue
		}
		h := nullSafeB.of(uncollated(n))
		if h == nil || !slices.ContainsFunc(halves, func(o holes) bool {
			return same(o["_a"], h["_a"]) &&
				same(o["_b"], h["_b"])
		}) {
			continue
		}
		a, errA := s.expr(h["_a"])
		b, errB := s.expr(h["_b"])
		if errA == nil && errB == nil {
			eq.add(a, b, n, n, true)
		}
	}
	return eq, s
}

// add notes that two values are equal, if their equality is that of their bytes.
func (eq *equations) add(a, b value, left, right *pg.Node, nulls bool) bool {
	bytes := byBytes(a, left) && byBytes(b, right)
	one := oneEquality(a) && oneEquality(b) && a.equality == b.equality && (a.equality == "" || a.id != nil && b.id != nil)
	if !bytes && !one || a.array || b.array || a.typ != b.typ && !(isInteger(a.typ) && isInteger(b.typ)) {
		return false
	}
	p := pair{a, b, bytes, bytes && a.typ == b.typ, nulls}
	if p.oneUnit() {
		eq.ties = append(eq.ties, tie{a.rowsOf(), b.rowsOf(), a.unit && b.unit})
	}
	switch {
	case a.id != nil && b.id != nil:
		eq.pairs = append(eq.pairs, p)
		if !nulls {
			eq.present = append(eq.present, a.id, b.id)
		}
	case a.id != nil && b.ofUnit && b.public:
		eq.fixed = append(eq.fixed, a.id)
	case b.id != nil && a.ofUnit && a.public:
		eq.fixed = append(eq.fixed, b.id)
	}
	return true
}

// byBytes reports whether equal values have equal bytes, under the collation that n gives a value, if any.
func byBytes(v value, n *pg.Node) bool {
	return v.exact || bare(n) != n && (v.typ == "text" || blanked(v.typ))
}

// oneEquality reports whether everything in PostgreSQL takes the same values of a type for equal.
func oneEquality(v value) bool {
	return v.exact || isNumber(v.typ) || v.typ == "interval" || v.equality != ""
}

// alike reads the second condition of a null-safe equation of two columns of text under one collation that is not
// deterministic.
//
// Rule: COALESCE(a, c) COLLATE n = COALESCE(b, c) COLLATE n, of columns whose equality is that of n, says the same of
// all texts equal to a and b. Proof: n is explicit on both sides, so = goes by it (parse_collate.c); nothing else is
// computed of them.
func (s *scope) alike(n *pg.Node) (a, b value, ok bool) {
	e := n.GetAExpr()
	l, r := e.GetLexpr().GetCollateClause(), e.GetRexpr().GetCollateClause()
	if l == nil || r == nil {
		return a, b, false
	}
	h := nullSafeB.of(
		&pg.Node{Node: &pg.Node_AExpr{AExpr: &pg.A_Expr{Kind: e.Kind, Name: e.Name, Lexpr: l.Arg, Rexpr: r.Arg}}})
	under, deterministic, known := s.collation(l.Collname)
	if other, _, both := s.collation(r.Collname); h == nil || !known || !both || deterministic || other != under {
		return a, b, false
	}
	a, errA := s.output(h["_a"])
	b, errB := s.output(h["_b"])
	c, errC := s.expr(h["_c"])
	ok = errA == nil && errB == nil && errC == nil && a.id != nil && b.id != nil && a.equality == under &&
		b.equality == under
	return a, b, ok && c.typ == "text" && !c.array && c.public && c.exact && c.notNull
}

// is reports whether an expression is a column.
func (s *scope) is(n *pg.Node, c *id) bool {
	v, err := s.output(n)
	return err == nil && v.id == c
}

// bare is a column without COLLATE of a deterministic collation: its equality is that of bytes.
func bare(n *pg.Node) *pg.Node {
	if c := n.GetCollateClause(); c != nil {
		if collation, ok := name(c.Collname); ok && len(c.Collname) == 2 && (collation == "default" || collation == "C") {
			return c.Arg
		}
	}
	return n
}

// uncollated is an equation without the collations of its sides.
func uncollated(n *pg.Node) *pg.Node {
	e := n.GetAExpr()
	if e == nil || e.Lexpr == nil || e.Rexpr == nil {
		return n
	}
	return &pg.Node{Node: &pg.Node_AExpr{AExpr: &pg.A_Expr{
		Kind: e.Kind, Name: e.Name, Lexpr: bare(e.Lexpr),
		Rexpr: bare(e.Rexpr),
	}}}
}

// equated are the columns that equal one of those, or a constant. NULL-safe pairs count too: a key of a domain takes
// NULLs for equal.
func (eq equations) equated(have func(*id) bool) (columns []*id) {
	columns = append(columns, eq.fixed...)
	for _, f := range eq.made {
		if !slices.ContainsFunc(f.uses, func(c *id) bool { return !have(c) }) {
			columns = append(columns, f.of)
		}
	}
	for _, p := range eq.pairs {
		if have(p.a.id) {
			columns = append(columns, p.b.id)
		}
		if have(p.b.id) {
			columns = append(columns, p.a.id)
		}
	}
	return columns
}

// strictly reports whether a column is in an equation that NULL does not fulfil.
func (eq equations) strictly(c *id) bool {
	return slices.Contains(eq.present, c) || slices.Contains(eq.fixed, c)
}

// oneUnit reports whether equality of two values puts their rows into one unit.
//
// Rule: of one kind of unit, both are units, or both are of one name whose equal values belong to one unit. Proof: the
// policy.
func (p pair) oneUnit() bool {
	return p.bytes && !p.nulls && p.a.home == p.b.home && (p.a.unit && p.b.unit || p.a.ident != "" &&
		p.a.ident == p.b.ident)
}
