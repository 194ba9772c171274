// Package backend is dpproxy's side of the database connections.
//
//	main    holds private rows; runs measure queries that rewrite printed, nothing else (measure.go)
//	shadow  holds the schema and no row; checks, describes and finishes statements (rows.go, describe.go)
//	public  reads public tables (rows.go, canonical.go)
//	synthetic  reads the twin: private tables whose rows are nobody's (twin.go)
//
// Every statement runs in a READ ONLY transaction of its own, in one round trip, after what could change its meaning is
// pinned (pins.go). A connection keeps its pins, and they are sent again when the next statement has others; what a
// client's statement sets is undone with a savepoint (guarded.go). Texts that repeat are prepared on their connections,
// each for its pins (statements.go), and so is what is around them. Where a transaction pooler stands in front of a
// database, which is noticed, each transaction pins its own, and nothing is prepared.
//
// What main reports at run time never leaves this package: it becomes a MeasureError, which has one text (errors.go).
// What shadow and public report comes back as *pgconn.PgError and may be shown, since neither can read a private row.
// That they cannot is checked by package provision before the proxy listens.
package backend
