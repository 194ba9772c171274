// Package rewritetest holds what the tests of rewrite and those of the whole proxy share: databases full of hostile
// rows, and the corpus of statements.
package rewritetest
