// Package release plans what is released of a relation: the groups, one exact integer per group and release with its
// sensitivity, and the formulas that make the analyst's aggregates of released integers:
//
//	domain.go     the values of keys, and combinations of public ones (P10, P10a)
//	keys.go       domains, groups per unit, partition selection (docs/privacy.md P10, P11, P17)
//	integer.go    the integer that one row adds, and that of a unit
//	block.go      counts (P12)
//	sums.go       sums, alone and given a count (P12, P13)
//	moments.go    variances, covariances, regressions (P14)
//	quantile.go   minima, maxima and percentiles (P16)
//	preserved.go  what may be released over a public LEFT JOIN private (P6)
//	aggregate.go  formulas; interval.go and within.go: of ends of intervals, and of wanted margins (P18)
package release
