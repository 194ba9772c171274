// Package relation makes the relations below a release: rows on main, with what is known, and enforced, about them.
// Each file has one kind of node: how its rows are made, the facts that hold of them (unit, rows per unit, unique sets,
// bounds), what main has to prove for these, and the line that EXPLAIN shows:
//
//	scan.go             a table, and the unit of its rows (docs/privacy.md P1)
//	foreignkeysteps.go  foreign keys that lead to the unit (P2)
//	filter.go           conditions, and what they say of columns (P3)
//	derived.go          a projection (P3)
//	inner.go            inner joins: rows per unit multiply (P4)
//	equalities.go       columns that are equal in every joined row (P4)
//	sameunit.go         joined rows have one unit (P4a, P9)
//	values.go           constants (P4b)
//	multiplicity.go     how many public rows one row of a join matches (P4e)
//	outer.go            LEFT, RIGHT and FULL joins (P5)
//	preserved.go        public LEFT JOIN private (P6)
//	lookup.go           the one row of a scalar subquery, EXISTS (P7)
//	distinct.go         DISTINCT with the unit (P8)
//	setop.go            UNION, INTERSECT and EXCEPT, unit by unit (P8)
//	canonical.go        one of several equal values (P8)
//	work.go             the work that one unit's rows cause (P22a)
//
// Relations are made from expressions (package expr) and printed by package query; no client's tree is seen here.
package relation
