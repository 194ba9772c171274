// Package certify reads the text of a measure query and derives from it, and from facts about its tables, how far one
// privacy unit can move each integer of the answer, and that no row makes it fail. It believes nobody: not the planner
// that printed the text, nor what it claims. What no rule derives is an error that names the place and the rule that is
// missing.
//
// A rule is a function whose comment states the rule and its proof. docs/certify.md has all of them in the order of
// reading, what they prove, and what is assumed.
//
// check.go (what is asked and answered), relation.go (kinds and columns); from.go, scan.go, lists.go, proven.go,
// equations.go, units.go and rows.go (tables, joins, units, row bounds); select.go, group.go, within.go, window.go and
// sets.go (queries, groups, aggregates and windows within a unit, UNION and friends); forms.go, layers.go and
// exclude.go (what bounds a unit, several integers together, rows that are in one condition at most); scope.go,
// expr.go, types.go and interval.go (names, values, what is known of them); branches.go, collate.go, operators.go,
// arithmetic.go, casts.go, functions.go, table.go, spans.go, times.go, ranges.go and patterns.go (what raises no
// error); derivation.go (which rules were applied, for an auditor). CONTRIBUTING.md says how a function and a join get
// their rules.
package certify
