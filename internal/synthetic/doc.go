// Package synthetic is dpproxy synthesize: it asks counts by one column and by two of the private tables, through the
// engine and as an account of its own, and draws tables that have these counts and no row of anybody's
// (docs/privacy.md P33, docs/synthesize.md).
package synthetic
