// Package query is the tree of a SELECT for main, and the only writer of its text.
//
// Everything that main is asked about private rows is built of these nodes and printed in one place, so nothing that
// was printed is ever read or edited again: a name that is not known before the whole is there, the number of an alias
// or of a parameter, is given by the writer (write.go). Nodes are values that share their parts freely and are never
// changed once they are built.
package query
