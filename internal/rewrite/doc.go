// Package rewrite turns a client's SELECT into what may be asked of private rows, and proves what it may cost.
//
// A statement passes, in this order:
//
//	Parse    text → Statements: size, token and depth guards, then PostgreSQL's own parser (package sqltree)
//	Analyze  Statement → Analysis: where it goes (shadow, public, private), or a refusal; once for a text
//	Plan     Analysis + parameter values → measure queries, releases, finish query; at every Bind with new values
//
// A private statement is cut at its release blocks, the SELECTs that aggregate private rows (package finish). What is
// below becomes relations that carry a unit column, an enforced number of rows per unit, and bounds of columns: bind
// reads the client's tree, and relation makes them. release plans what is released of them, measure makes the queries
// for main, and query writes them: no text of the client's reaches main. What is above keeps the client's own form,
// with each block replaced by unnest() of released integers.
//
//	rewrite → finish, measure → release → bind → aggregate → relation → expr → query, sqltree → schema
//
// The packages are pure: no I/O, no randomness, no clock, no log. Their rules are those of docs/privacy.md.
package rewrite
