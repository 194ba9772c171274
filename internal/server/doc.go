// Package server connects the packages into a running proxy: policy → backend, ledger → engine → session → wire.
//
// Start makes every check before it listens. Reload replaces what a policy says while clients stay connected:
//
//	taken over      tables, views, analysts, budgets, accounting, defaults, answers, timing, pools, databases,
//	                certificates
//	needs a restart listen, metrics, ledger, limits on connections; Reload says so in the log
//
// A policy that does not load, or whose databases do not fit it, changes nothing.
package server
