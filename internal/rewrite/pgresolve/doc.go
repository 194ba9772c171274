// Package pgresolve finds what PostgreSQL takes a name for: the operator, the function and the common type, by the
// types of the operands.
//
// The candidates are PostgreSQL's own. catalog.sql reads them from pg_type, pg_cast, pg_operator and pg_proc;
// catalog.txt holds what it gives, whether dpproxy supports it or not, because a candidate that dpproxy refuses still
// takes part in the choice. The choice follows parse_oper.c, parse_func.c and parse_coerce.c of PostgreSQL.
//
// The package knows types alone: no expressions, no bounds and no privacy.
package pgresolve
