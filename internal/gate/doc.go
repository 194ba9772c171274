// Package gate is the only way from a text to main, and from main's integers to an answer (docs/certify.md).
//
// A Certificate (certificate.go) holds what certify derives of each query of a plan, from what main proves (facts.go)
// and against what the plan charges (claims.go). Measured asks main what is certified, and keeps its exact integers
// (measured.go, collect.go). A Receipt is a durable charge that covers the mechanisms it names (receipt.go); Draw uses
// it up (draw.go), and gives out what is released.
package gate
