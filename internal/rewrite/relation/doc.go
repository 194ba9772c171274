// Package relation makes the relations below a release: rows on main, with what is known, and enforced, about them. Each file has one
// kind of node: how its rows are made, the facts that hold of them (unit, rows per unit, unique sets, bounds), what main has to prove
// for these, and the line that EXPLAIN shows:
//
//	scan.go       a table, and the unit of its rows (P1, P2)
//	chain.go      foreign keys that lead to the unit (P1)
//	inner.go      inner joins: rows per unit multiply (P3, P4)
//	sameunit.go   joined rows have one unit (P4)
//	outer.go      LEFT, RIGHT and FULL joins (P3, P4)
//	preserved.go  public LEFT JOIN private (P5)
//	filter.go     conditions, and what they say of columns
//	derived.go    a subselect; distinct.go, setop.go, values.go, lookup.go: its kinds
//	work.go       the work that one unit's rows cause (P22a)
//
// Relations are made from expressions (package expr) and printed by package query; no client's tree is seen here.
package relation
