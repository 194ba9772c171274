// Package lineage says whose rows a relation of main may hold: it follows foreign keys, partitions, inheritance, views and
// foreign tables that lead back into the same database, as far as the catalogs tell.
//
// `dpproxy init` never offers as public what leads to people, and `serve` does not start where a public table does.
// Catalogs are read, and no row.
package lineage
