// Package rewrite turns a client's SELECT into what may be asked of private rows, and proves what it may cost.
//
// A statement passes, in this order:
//
//	Parse    text → Statements: size, token and depth guards, then PostgreSQL's own parser
//	Analyze  Statement → Analysis: where it goes (shadow, public, private), or a refusal
//	Plan     Analysis + parameter values → measure queries, releases, finish query
//
// A private statement is cut at its release blocks, the SELECTs that aggregate private rows. What is below becomes
// relations that carry a unit column, an enforced number of rows per unit, and bounds of columns (relation.go, join.go,
// subquery.go); these are printed as the measure query, never copied from the client's text (measure.go). What is above
// keeps the client's own form, with each block replaced by unnest() of released integers (finish.go).
//
// The package is pure: no I/O, no randomness, no clock. Its rules are those of docs/privacy.md.
package rewrite
