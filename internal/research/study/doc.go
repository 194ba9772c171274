// Package study implements `dpproxy mechanism`: the calibrations side by side, the proofs by enumeration, and the
// figures. It also holds what the papers say that no policy can select: the data-dependent scales of Croft et al. (32),
// (33), and the Laplace curve of Fu et al. outside its three regimes.
//
//	command.go   the three commands, as kong structs
//	table.go     table     calibrations and errors; range.go: its valid set
//	verify.go    verify    enumeration over a sweep; findings.go: what the papers' claims come to
//	plot.go      plot      figures; figures.go: their data
//	lambert.go   the Lambert W function
package study
