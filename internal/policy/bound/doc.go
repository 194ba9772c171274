// Package bound reads the bounds of a policy file: numbers, dates, timestamps, times of day and intervals.
//
// It is the only reader of bounds. `check` parses every bound with it, and loading the schema turns each into the exact
// value of its column's type, which is all that rewrite sees. PostgreSQL never reads a bound, so no setting and no
// version of it changes what one means. What the package does not understand it refuses, and the error says what to
// write instead.
//
// Values are exact rationals in canonical units: numbers as they are, dates in days and timestamps in microseconds
// since 1970-01-01, times and intervals in microseconds. A timestamp without a zone is UTC. An interval is worth what
// EXTRACT(EPOCH FROM …) makes of it: 30 days a month, 365.25 days a year.
package bound
