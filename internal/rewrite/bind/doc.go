// Package bind turns the client's queries into relations: it resolves names (scope.go), and is the only recursion over
// the client's tree below a release. kind.go sorts queries into public rows, rows of persons, and values computed from
// releases.
package bind
