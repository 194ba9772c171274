package rewrite

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// What a plan knows, and what it is made of, in the words of package schema.
type (
	Schema         = schema.Schema
	Relation       = schema.Relation
	RelationColumn = schema.Column
	Type           = schema.Type
	Equality       = schema.Equality
	Settings       = schema.Settings
	Canonical      = schema.Canonical
	Values         = schema.Values
	Lookup         = schema.Lookup
	Query          = schema.Query
	Proof          = schema.Proof
	SQL            = schema.SQL
	Parameter      = schema.Parameter
)

// This file and schema.go are the whole surface between rewrite and engine: Parse gives Statements, Analyze gives an
// Analysis that may be cached, Analysis.Plan gives what is charged and run.

// Statement is one statement of a text, syntax-checked and within all limits.
type Statement struct {
	SQL    string // its own text, without the semicolon
	Offset int    // characters before SQL in the client's text
	Node   *pg_query.Node
}

// Explain is an EXPLAIN, taken apart: the engine analyses and plans Inner and prints Plan.Explain.
type Explain struct {
	Inner   *Statement
	JSON    bool
	Analyze bool
}

// Description is what the shadow's Postgres says of a prepared statement.
type Description struct {
	ParameterTypes []uint32
	Columns        []ColumnDescription
}

// ColumnDescription is one column of the shadow's row description.
type ColumnDescription struct {
	Name   string
	Type   uint32
	Typmod int32
}

// Route says where a statement goes.
type Route int

const (
	RouteShadow  Route = iota // catalog queries and statements without a table
	RoutePublic               // reads public tables
	RoutePrivate              // needs a plan
)

// Options are what a plan needs from the running proxy.
type Options struct {
	HashKey string // secret of the group selection (PRIVACY 9)
	Version int    // main's server_version_num
}

// Plan is one private statement, ready to be charged and run.
type Plan struct {
	Fingerprint string  // hex SHA-256 of what is measured and released: the answer cache's key part
	Epsilon     float64 // of the whole statement before SET dpproxy.epsilon caps it; table overrides applied
	EpsilonMax  float64
	Blocks      []Block
	Finish      Finish
	Proofs      []Proof  // what main has to prove, before the charge and again inside the measure transaction
	Explain     []string // plan tree, one line each: unit, row bounds, column bounds, sensitivities
}

// Block is one release block: an aggregating SELECT over private rows.
type Block struct {
	// Measure returns one row per non-empty group: first the group, then one exact integer (numeric or bigint) per entry
	// of Measured. With declared keys the group is one bigint, the key's 1-based ordinal in Keys (1 for a single group);
	// under selection it is the key columns (nullable, of KeyTypes), followed by the number of units in the group.
	// Groups that it does not return are all zero. Text is empty where Measured is.
	Measure  SQL
	Measured []int // indexes into Releases

	// Histograms measure the Quantile releases.
	Histograms []Histogram

	Keys     [][]*Canonical // group keys, in the order in which they are released; one empty row for a single group; nil under selection
	KeyTypes []uint32
	Select   *mechanism.Release // partition selection on units; nil with declared keys
	Releases []mechanism.Release
	Epsilon  float64 // this block's share of Plan.Epsilon, a fraction that adds up to 1 over the blocks
	Columns  []Column
	Steps    int64 // the most that main does for the rows of one unit, in steps of a few nanoseconds

	// Where a unit may have rows in more groups than it counts in, Picked is how many it counts in, and Unit is its kind; else 0.
	Picked int64
	Unit   string
}

// Histogram is the measure query of Quantile releases that share one expression: rows (group as in Measure but without
// the number of units, grid step, count), sparse, in any order.
type Histogram struct {
	Measure  SQL
	Releases []int // indexes into Block.Releases
}

// Column says which released integers make one aggregate of the block, for NOTICE, EXPLAIN and dpproxy.interval_*.
type Column struct {
	Name     string // as the analyst wrote it: "avg(cost)"
	Output   string // name of the result column that is this aggregate and nothing else; empty: part of an expression
	Type     uint32
	Releases []int // indexes into Block.Releases; for an avg: sum, count
	// How two releases, a chained z and its count n, make the value, with Step that of z's grid:
	Average bool  // origin + Step·z/n
	Twice   int64 // else Step·(z + Twice·n)
}

// Finish is the client's statement with each block replaced by unnest() of released values.
type Finish struct {
	SQL  string
	On   Route // RouteShadow, or RoutePublic where it reads public tables
	Args []FinishArg
}

// FinishArg says what a finish parameter is bound to: a client parameter, a block's key column, a block's release, or a
// derived quantity of a release (PRIVACY 19).
type FinishArg struct {
	Type      uint32 // of the parameter; arrays for keys (text[]) and releases (int8[])
	Parameter int    // 1-based client parameter, or 0
	Block     int
	Key       int     // index into KeyTypes, or -1
	Release   int     // index into Releases, or -1
	Derived   Derived // of Release; empty: the released integer itself
}

// Derived names a function of a released value and public quantities.
type Derived string

const (
	DerivedLow    Derived = "low"    // grid step of the 95% interval's lower end, int8[]
	DerivedHigh   Derived = "high"   // upper end, int8[]
	DerivedStddev Derived = "stddev" // of the noise, in grid steps, float8[]
	// DerivedThreshold is ln(1/2β)/ε of a count, rounded up, with β = .05 and the release's own ε: what noise alone exceeds in
	// 5% of the draws (PRIVACY 18); int8[], the same for every group.
	DerivedThreshold Derived = "threshold"
)
