// Package lineage says whose rows a relation of main may hold: it follows foreign keys, partitions, inheritance, views
// and foreign tables that lead back into the same database, as far as the catalogs tell. Where they do not, Signs has
// the one list of what names and types tell: init, check --live, serve and its look of each minute go by it.
//
// `dpproxy init` never offers as public what leads to people, and `serve` does not start where a public table does.
// Catalogs are read, and no row.
package lineage
