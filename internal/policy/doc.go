// Package policy reads the policy file: which tables exist for analysts, what protects them, who may ask, and for how much.
//
// Reading goes in three steps, each of which reports every problem that it finds, with file, line and column:
//
//  1. YAML to nodes (document.go): one document, no tags, a bound on aliases.
//  2. Nodes to values (value.go, scalar.go, bound): a walker knows every key; an unknown or a duplicate key is a
//     problem. One file per part of the policy: server.go, databases.go, accounting.go, analysts.go,
//     tables.go, columns.go.
//  3. References between parts (references.go): units, foreign-key chains, domains in public tables, views.
//
// The package does no I/O but reading that one file and the environment; types of columns are compared with the
// databases by serve and by check --live. docs/policy.md documents every key.
package policy
