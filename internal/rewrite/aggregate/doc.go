// Package aggregate types the calls of aggregate functions and gives their arguments as integers of a grid. Over the
// rows of one unit it prints them with bounds that the SQL enforces (unit.go); what is released of many units is
// package release's.
package aggregate
