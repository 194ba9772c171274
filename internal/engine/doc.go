// Package engine takes one statement from text to rows: the straight line through the house.
//
//	Prepare   the shadow's Postgres checks names and types; rewrite analyses (prepare.go)
//	Bind      values become canonical text; rewrite plans; mechanism calibrates (bind.go, price.go)
//	Charge    the ledger admits all statements of a message, or none (charge.go)
//	Execute   main measures, mechanism draws, the shadow finishes (private.go, release.go, finish.go)
//
// Statements that touch no private relation skip the middle: they run on the shadow or as public (open.go).
//
// What analysts see beside their rows is made in notice.go, explain.go and supply.go. Nothing here decides what is
// private: that is rewrite's. Nothing here knows names of statements, portals or transactions: those are session's.
package engine
