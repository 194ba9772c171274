// Package expr types, bounds and prints the row-level expressions that run on private rows.
//
// An expression is accepted only if it is total: for every row that main may hold, NULL, NaN, ±infinity and extreme
// values included, it neither raises an error nor leaves the bounds that are declared for it. A row that made a measure
// query fail would be seen by the analyst; a value outside its bounds would exceed the sensitivity.
//
// # From parse node to SQL
//
//  1. Build walks the parse tree. Every node kind, function, operator and cast that is not named here is refused.
//  2. Names are resolved through a Scope; operators, functions and types as PostgreSQL resolves them
//     (package pgresolve).
//  3. The resolved identity (name and argument types) is looked up in the table of rules (rules.go; one file rule_*.go
//     for each family). A rule states the bounds of the result, the condition under which the operation is total, and
//     what it costs.
//  4. Expr prints itself with qualified names, so that it means on main what was analysed here.
//
// # Bounds
//
// Interval ends are exact rationals in canonical units: numbers as they are, dates in days and timestamps in
// microseconds since 1970-01-01 (UTC), times in microseconds of the day, intervals in microseconds by their epoch (a
// month is 30 days, a year 365.25). A finite interval excludes NaN and ±infinity. An open upper end includes NaN, which
// PostgreSQL sorts last.
//
// A bounded column is clamped where it is read: by a CASE ladder, so that NULL stays NULL and NaN becomes the upper
// bound. Comparisons are total for any value, so a bare column is compared unclamped and an index on it stays usable;
// so are operands that are total for any value, too (docs/privacy.md P3b).
//
// # Floats
//
// PostgreSQL raises on underflow too: 1e-200 * 1e-200 is an error. So a float column that takes part in arithmetic is
// read with tiny values flushed to zero, and each float expression carries a quantum: its values are multiples of
// 2^-quantum. Products and quotients are accepted while quanta prove that no nonzero result is subnormal. Where a
// quotient is compared, its divisor may be 0, and is read as NULL then: any other is at least one quantum away from 0.
//
// # Parameters
//
// Build works without parameter values, for the cached analysis, and again with them. Without, whatever depends on a
// value is accepted provisionally; with, everything is proven. The clock, and dates and times that are not in ISO form,
// are read by PostgreSQL (Scope.Literal) when the values are known, and are constants from then on. So are operations
// on constants and parameters (computed): no rule bounds them.
//
// A rule is half of what a function needs: package certify refuses a query for main unless it has one of its own.
// CONTRIBUTING.md says how a function is added.
package expr
