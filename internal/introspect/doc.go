// Package introspect reads what main and shadow say of the policy's relations, and joins it to the schema that rewrite
// sees.
//
// It runs catalog queries over connections that its callers give it, and reads no row of a relation.
package introspect
