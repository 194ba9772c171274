// Package policy reads the policy file: which tables exist for analysts, what protects them, who may ask, and for how
// much.
//
// Reading goes in three steps, each of which reports every problem that it finds, with file, line and column:
//
//  1. YAML to a tree without aliases (document.go): one document, no tags, each key once.
//  2. Shape, words and ranges (schema.go): policies/policy.schema.json says them, to this package and to editors; texts
//     with a grammar of their own are in grammar.go. What is wrong is taken out of the tree.
//  3. The tree to a Policy by the tags of its fields, and what one part says of another: read.go, analysts.go,
//     databases.go, several.go, tables.go, columns.go, references.go. What follows from a problem of shape is not
//     reported again.
//
// The package does no I/O but reading that one file, its secrets and the environment; types of columns are compared
// with the databases by serve and by check --live. docs/policy.md documents every key.
package policy
