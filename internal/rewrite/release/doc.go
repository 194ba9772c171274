// Package release plans what is released of a relation: the groups (keys.go), one exact integer per group and release with its
// sensitivity (integer.go, sums.go, moments.go, quantile.go), and the formulas that make the analyst's aggregates of released integers
// (aggregate.go, interval.go).
package release
