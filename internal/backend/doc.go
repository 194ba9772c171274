// Package backend is dpproxy's side of the three database connections.
//
//	main    holds private rows; runs measure queries that rewrite printed, nothing else (measure.go)
//	shadow  holds the schema and no row; checks, describes and finishes statements (rows.go, describe.go)
//	public  reads public tables (rows.go, canonical.go)
//
// Every statement runs in a READ ONLY transaction of its own that begins by pinning what could change its meaning
// (pins.go), all of it in one round trip. Nothing is left on a pooled connection: no prepared statement, no setting, so
// a transaction pooler may stand in front of each database.
//
// What main reports at run time never leaves this package: it becomes a MeasureError, which has one text (errors.go).
// What shadow and public report comes back as *pgconn.PgError and may be shown, since neither can read a private row.
// That they cannot is checked by package provision before the proxy listens.
package backend
