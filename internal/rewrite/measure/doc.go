// Package measure makes the queries that main answers about private rows. They have four layers, from the inside
// (docs/privacy.md P12, P26):
//
//  1. rows, or the integers of each (unit, key) (rows.go);
//  2. keys become ordinals of the domain; a row whose key is in no domain is dropped (ordinals.go). Keys of public rows
//     stay (P26a);
//  3. at most C groups of a unit, its integers clamped (bounding.go). All that a sensitivity counts on is enforced
//     here, on (unit, ordinal) rows, so that no mistake about keys can multiply a unit;
//  4. the sum over units (measure.go).
//
// Quantiles have a histogram instead (histogram.go). Every query is read again before main sees it (verify.go).
package measure
