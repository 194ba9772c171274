// Package profile is `dpproxy profile`: it releases bounds, rows per unit and domains, as keys of a policy.
//
// What it asks are ordinary statements, planned, charged, measured and drawn by package engine like those of an
// analyst, under a copy of the policy whose bounds are so wide that they bind nobody (wide.go). Every statement first
// reduces the rows of a unit to one value on a public grid (questions.go, grid.go), so that no bound has to be known
// before one is asked for: docs/privacy.md P29. Units are counted first, and their number decides what else is asked,
// if anything (people.go). All statements of a phase are charged together, before the first of them reads a row
// (ask.go). keys.go makes policy keys of what was released.
package profile
