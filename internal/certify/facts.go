package certify

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// Facts is what is known of the tables. Each fact is a line of the policy, or proven by main in the snapshot that
// measures.
type Facts struct {
	Tables map[string]Table    // by TableName
	Enums  map[string][]string // labels of enum types, by schema.name
	Bases  map[string]string   // domain types, by schema.name, and what they are made of
	Proven []string            // questions without parameters that main has answered with true
}

var dots = strings.NewReplacer(`\`, `\\`, `.`, `\.`)

// TableName is how facts name a table: schema.name, where a dot in one of the two is written \., so that no other table
// has that name.
func TableName(schema, name string) string {
	return dots.Replace(schema) + "." + dots.Replace(name)
}

// Table is an ordinary table without inheritance children, or one that is Spread: partitioned, foreign, or with such
// children.
type Table struct {
	Public  bool
	Kind    string // of privacy unit
	Unit    string // column that holds the unit, or
	Via     *Via   // the key that leads to it
	Columns map[string]Column
	// sets of columns whose values are unique but for NULLs, by a valid, full, immediate index under the columns'
	// collations
	Unique [][]string
	// its rows are elsewhere, too: it is read without ONLY. A foreign table, and one with children, has no unique sets
	Spread bool
}

// Via says that the unit of a row is that of the one row of Table whose Key equals Column. Types and collations are the
// same.
type Via struct{ Column, Table, Key string }

// Column is one column of a table.
type Column struct {
	Type          string // as format_type prints it: numeric(10,2), bigint, text, public.mood
	NotNull       bool
	Collation     string // of text, as quote_ident spells it: public."Ci"; "" is the default
	Deterministic bool   // equal values have equal bytes: for text, a deterministic collation
	// TableName, a dot, and the column whose equal values belong to one unit, this column's rows included, or to rows
	// without a unit
	OneUnit string
}

// Value is a parameter. Elements are those of an array; a scalar has one. A nil element is NULL.
type Value struct {
	// that main reads it as, by its name in pg_type: int8, text; of an array that of its elements
	Type     string    `json:"type"`
	Array    bool      `json:"array,omitempty"`
	Elements []*string `json:"elements"`
}

// Kinds of outputs.
const (
	Integer = "integer" // moves by Delta, Total, Groups
	Public  = "public"  // a key whose values are public, an ordinal of the domain, or a constant
	Private = "private" // a key that holds values of private rows: partition selection alone may give it out
	// claimed: a key by which groups are found that the caller has a list of, of Groups groups; no other is given out
	Listed    = "listed"
	Selection = "selection" // claimed: the integer that partition selection compares with its threshold
	Bin       = "bin"       // claimed: a private key that is a bin of a histogram, which no mechanism gives out
)

// Influence bounds what one unit does to an integer of a grouped answer. A nil bound is none.
type Influence struct {
	Delta *big.Rat `json:"delta,omitempty"` // in one group
	// in all groups together that have the same keys but bins, or the same public keys: what a histogram's place is
	// charged for
	Place  *big.Rat `json:"place,omitempty"`
	Total  *big.Rat `json:"total,omitempty"`  // summed over its groups
	Groups *big.Rat `json:"groups,omitempty"` // number of groups in which it moves at all
	// it moves no group by more than a number whose square, times the groups that it moves, is at most this
	Squares *big.Rat `json:"squares,omitempty"`
	shares  []share
}

// Output is one column of the answer.
type Output struct {
	Kind string `json:"kind"`
	Type string `json:"type,omitempty"` // of a key
	span span
	Influence
}

// Certified is what was derived.
type Certified struct{ Outputs []Output }

// Settled is what was derived without what Together reads, which holds the whole text.
func (c Certified) Settled() Certified {
	c.Outputs = slices.Clone(c.Outputs)
	for i := range c.Outputs {
		c.Outputs[i].shares = nil
	}
	return c
}

// Claim is what a caller wants to be true of the output of the same place. A nil bound claims nothing. A public key of
// Groups is an ordinal from 1 to Groups.
//
// What is charged together is claimed together, in the steps s of a unit: the sum over the groups of |move| / Row
// rounded up, where Row is 1 if there is none. Integers of one layer, of all texts of a statement that are measured in
// one snapshot, have Σ s / ⌈Total / Row⌉ <= 1. Of integers with a Row and the same ⌈Total / Row⌉, no group moves one by
// more than Row times a number of rows that is the same for all, and these numbers add up to ⌈Total / Row⌉ at most.
type Claim struct {
	Kind string `json:"kind"`
	Type string `json:"type,omitempty"` // as which a key is read, by its name in pg_type; "": as text
	Influence
	Row    *big.Rat `json:"row,omitempty"`
	Layers []int    `json:"layers,omitempty"` // an integer may be read by several releases
}

// Error says what could not be derived: where in the text, and which rule is missing.
type Error struct {
	At   int    // byte of the text, or -1
	Rule string // what is missing: few words, to be counted
	What string // what stands there
}

func (e *Error) Error() string {
	if e.At < 0 {
		return fmt.Sprintf("no rule for %s: %s", e.Rule, e.What)
	}
	return fmt.Sprintf("byte %d: no rule for %s: %s", e.At, e.Rule, e.What)
}

// missing is the error of a rule that is not there.
func missing(at int32, rule, format string, args ...any) error {
	return &Error{At: int(at), Rule: rule, What: fmt.Sprintf(format, args...)}
}
