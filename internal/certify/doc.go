// Package certify reads the text of a measure query and derives from it, and from facts about its tables, how far one
// privacy unit can move each integer of the answer, and that no row makes it fail. It believes nobody: not the planner that
// printed the text, nor what it claims. What no rule derives is an error that names the place and the rule that is missing.
//
// # What is proven
//
// D and D′ are databases that differ in the rows of one unit x, which D has and D′ has not. A relation, which is a FROM item or
// a subquery, is of one of four kinds (relation.go):
//
//   - public: the same rows for D and D′.
//   - split: R(D) is the disjoint union, over the units, of R_y(rows of y, public rows). So R(D′) = R(D) without R_x. A split
//     relation may have unit columns, which hold in each row the unit that the row is from.
//   - nested: R(D′) is R(D) without some rows: what DISTINCT makes of a split relation, as it forgets whose a row was.
//   - grouped: a key, and integers of which one unit moves each by at most Delta in a row, Total over all rows, in at most Groups
//     rows, where a row that is missing counts as zeros.
//
// A rule is a function of this package whose comment states the rule and its proof. Rules are about bags of rows, so plan, order
// of rows and parallelism have no part in them; where PostgreSQL leaves a choice to the plan (ties, LIMIT, sums of floats), there is
// no rule unless the choice makes no difference.
//
// # What is assumed
//
// The session has search_path = pg_catalog and the pinned settings of the proxy; rows of private tables whose unit is NULL
// belong to no unit; no aggregate reads more than 2^32 rows, of which sums of int4 stay within int8 (beyond, they wrap silently); facts
// are true in the snapshot that the query reads.
//
// # Where to begin
//
// check.go (what is asked and answered), relation.go (kinds and columns); from.go, scan.go, lists.go, proven.go, equations.go, units.go and
// rows.go (tables, joins, units, row bounds); select.go, group.go, within.go, window.go and sets.go (queries, groups, aggregates and windows
// within a unit, UNION and friends); forms.go, layers.go and exclude.go (what bounds a unit, several integers together, rows that are in one
// condition at most); scope.go, expr.go, types.go and interval.go (names, values, what is known of them); branches.go, collate.go, operators.go, arithmetic.go, functions.go, table.go, spans.go,
// times.go, ranges.go and patterns.go (what raises no error); derivation.go (which rules were applied, for an auditor). CONTRIBUTING.md says
// how a function and a join get their rules.
package certify
