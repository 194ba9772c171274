// Package engine executes one statement: prepare, bind, charge, measure, finish. A file for each step, in this order:
//
//	parse.go    syntax and limits; which statements the session answers itself
//	prepare.go  the shadow checks names and types; rewrite analyses; both are cached
//	bind.go     values become canonical text; rewrite plans; each release gets a mechanism; the shadow and main take
//	            the queries
//	charge.go   the ledger admits all statements of a message, or none
//	measure.go  main measures, mechanism draws
//	finish.go   the shadow computes the client's rows from released values
//
// answercache.go is a decorator around charge and measure: a question whose answer is kept, or in flight, passes
// neither. Nor does one that kept answers determine (kept.go). One that another analyst's answer is enough for is
// charged, and not measured (shared.go).
//
// Statements that touch no private relation end after bind: they run on the shadow or as public (open.go). So does
// EXPLAIN (explain.go), which charges nothing.
//
// Each step has its helpers: calibrate.go, margin.go, within.go, averages.go, lookup.go and check.go belong to bind;
// timing.go, quota.go, draw.go and parts.go to measure; notice.go to finish. supply.go has the values of
// dpproxy.budget, columns, history, help and last. How far an answer may be off, and what is shown of it, package
// estimate says.
//
// The package does not decide what is private: rewrite does. It knows no names of statements or portals and no
// transactions: session does.
package engine
