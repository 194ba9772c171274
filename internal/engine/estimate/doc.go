// Package estimate says how far an answer may be off. A released integer has an error whose distribution is public: its
// mechanism is known. So an aggregate, and whatever a statement computes of aggregates, has an interval that holds the
// truth in 95% of the answers (docs/mechanisms.md, sections 8, 17 and 18):
//
//	statement.go  what is public of a statement, and the answer as it is shown: levels.go, presence.go
//	interval.go   an aggregate in one group; of variances and correlations moments.go
//	formula.go    what is computed of aggregates; windows.go adds them up over groups
//	figures.go    a margin for each result column
//	order.go      which places of a sorted answer are certain
//	noise.go      what is known of a release before it is drawn
//	text.go       numbers as people read them
//
// EXPLAIN, NOTICE, dpproxy.last, dpproxy.interval_low and interval_high and the console read these. Everything follows
// from released values and from what is public: no private row has a part in it.
package estimate
