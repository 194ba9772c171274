// Package initpolicy writes a first policy for a database: `dpproxy init`.
//
// It reads the catalogs only: columns, types, keys, enums and CHECK constraints, never a row, and no statistics either,
// which are made of rows. What the schema does not say (bounds, rows per unit, which tables are public) is in the
// policy as a comment or as a cautious value that a person has to look at. A table of which it is not certain whose
// rows it holds is commented out: what a policy does not list does not exist for an analyst.
package initpolicy
