package rewrite

import (
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite/aggregate"
	"github.com/dpproxy/dpproxy/internal/rewrite/finish"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/release"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// What a plan knows, and what it is made of, in the words of package schema.
type (
	Schema         = schema.Schema
	Relation       = schema.Relation
	RelationColumn = schema.Column
	ForeignKey     = schema.ForeignKey
	Type           = schema.Type
	Equality       = schema.Equality
	Settings       = schema.Settings
	Canonical      = schema.Canonical
	Keys           = schema.Keys
	KeyRows        = schema.KeyRows
	Table          = schema.Table
	Values         = schema.Values
	Lookup         = schema.Lookup
	Query          = schema.Query
	ClientQuery    = schema.ClientQuery
	Proof          = schema.Proof
	StageColumn    = schema.StageColumn
	SQL            = schema.SQL
	Parameter      = schema.Parameter
	Constants      = schema.Constants
	Literal        = schema.Literal
	Expression     = schema.Expression

	Description       = schema.Description
	ColumnDescription = schema.ColumnDescription
	Route             = schema.Route

	Statement  = sqltree.Statement
	Explain    = sqltree.Explain
	Column     = release.Column
	Beyond     = relation.Beyond
	Difference = release.Difference
	Order      = finish.Order
	Output     = finish.Output
	Formula    = finish.Formula
	Window     = release.Window
	Moments    = release.Moments
	Moment     = release.Moment
	Finish     = finish.Query
	FinishArg  = finish.Arg
	Stage      = finish.Stage
	Level      = finish.Level
	Pair       = release.Pair
	Derived    = aggregate.Derived
)

const (
	FormulaAggregate = finish.FormulaAggregate
	FormulaWindow    = finish.FormulaWindow
	FormulaNumber    = finish.FormulaNumber
	FormulaNumeric   = finish.FormulaNumeric
	FormulaWhole     = finish.FormulaWhole
	FormulaRank      = finish.FormulaRank
	FormulaOther     = finish.FormulaOther

	RouteShadow    = schema.RouteShadow
	RoutePublic    = schema.RoutePublic
	RouteSynthetic = schema.RouteSynthetic
	RoutePrivate   = schema.RoutePrivate

	DerivedLow  = aggregate.DerivedLow
	DerivedHigh = aggregate.DerivedHigh

	BeyondNoGroup   = relation.NoGroup
	BeyondNearest   = relation.Nearest
	BeyondCondition = relation.Condition
	BeyondKey       = relation.NearestKey
	BeyondDropped   = relation.Dropped

	DerivedStddev    = aggregate.DerivedStddev
	DerivedThreshold = aggregate.DerivedThreshold
	DerivedPlain     = aggregate.DerivedPlain
	DerivedShown     = aggregate.DerivedShown
	DerivedNoise     = aggregate.DerivedNoise
	DerivedShare     = aggregate.DerivedShare
)

// KeyArray prints a column of keys as a PostgreSQL array of text.
func KeyArray(keys Keys, column int) []byte {
	return schema.AppendTextArray(nil, schema.KeyColumn(keys, column))
}

// NewTable makes a table of so many columns, which has no rows yet.
func NewTable(columns int) *Table { return schema.NewTable(columns) }

// AppendKeyValue appends one column of the name of a key in a list: no two keys share a name.
func AppendKeyValue(to []byte, keys Keys, group, column int) []byte {
	return schema.AppendKeyValue(to, keys, group, column)
}

// KeyRow returns the key of one group; nil is NULL.
func KeyRow(keys Keys, group, columns int) []*Canonical { return schema.KeyRow(keys, group, columns) }

// MostListed is how many values a list may have that a plan is made with.
const MostListed = schema.MostListed

// Parse splits and parses a text of at most maxBytes bytes (see sqltree.Parse).
func Parse(sql string, maxBytes int) ([]*Statement, error) { return sqltree.Parse(sql, maxBytes) }

// WithoutPosition gives an error of a text that the client has not written.
func WithoutPosition(err error) error { return sqltree.WithoutPosition(err) }

// MayReadClock reports whether an expression as dpproxy prints it, or a value of any type, may mean something else at
// another time.
func MayReadClock(text string) bool { return sqltree.MayReadClock(text) }

// Options are what a plan needs from the running proxy.
type Options struct {
	HashKey    string // secret of the group selection (docs/privacy.md P11)
	KeepsEmpty bool   // SET dpproxy.empty_groups = keep
}

// Plan is one private statement, ready to be charged and run.
type Plan struct {
	Fingerprint string  // hex SHA-256 of what is measured and released: the answer cache's key part
	Epsilon     float64 // of the whole statement before SET dpproxy.epsilon caps it; table overrides applied
	EpsilonMax  float64
	Blocks      []Block
	Stages      []Stage // what is answered between the blocks: later ones read it
	Levels      []Level // of Blocks: which are parts of others, both of one stage; each adds up to one other at most
	Finish      Finish
	Proofs      []Proof // what main has to prove, before the charge and again inside the measure transaction
	// CutConditions read numbers of one unit as what they count as where they are added up, since nothing proves them
	// total otherwise.
	CutConditions []string
	OverShown     bool     `json:"-"` // groups that are shown are aggregated
	Outputs       []Output `json:"-"` // the result columns that released values are in
	Order         *Order   `json:"-"` // nil: no released value is in what the rows are sorted by
	Beyond        []Beyond // values beyond the bounds of columns
	Explain       []string // plan tree, one line each: unit, row bounds, column bounds, sensitivities
	OverNoRows    []string `json:"-"` // of Explain, which calls have a value over no rows
}

// Block is one release block: an aggregating SELECT over private rows.
type Block struct {
	// Measure returns one row per non-empty group: first the group, then one exact integer (numeric or bigint) per entry
	// of Measured. With declared keys the group is one bigint, the key's 1-based ordinal in Keys (1 for a single group);
	// under ByKey it is the key columns (nullable, of KeyTypes), and rows of keys that are not among Keys are dropped;
	// under selection too, followed by the number of units in the group. Groups that it does not return are all zero. Text
	// is empty where Measured is.
	Measure  SQL
	Measured []int // indexes into Releases

	// Histograms measure the Quantile releases.
	Histograms []Histogram

	// of the groups, in the order in which they are released; one of no columns for a single group; nil under selection
	Keys     Keys
	KeyTypes []uint32
	// main names a group by its keys, also where they are declared: public rows hold them (docs/privacy.md P26a)
	ByKey  bool
	Select *mechanism.Release // partition selection on units; nil with declared keys
	// under selection: 1 + the release whose value decides, without noise of the selection's own; 0: there is none
	SelectBy int
	Releases []mechanism.Release
	Columns  []Column

	// DropsEmpty says that only groups are shown which the releases Exists tell from empty ones: all are 0 over no
	// rows. PostgreSQL has no groups without rows.
	DropsEmpty bool
	Exists     []int    // indexes into Releases; none where no row can be: no group is shown
	Compared   bool     `json:"-"` // the statement asks whether there are rows, and nothing else
	Chosen     bool     `json:"-"` // released values choose in another way which groups are shown
	Limit      int      `json:"-"` // how many groups an order of what is released of them leaves; 0: all
	Windows    []Window `json:"-"` // sums over its groups
	// all groups, as windows add them up that alone read the releases with Running; nil: there are none
	Running []int         `json:",omitempty"`
	Sums    []release.Sum `json:"-"` // of which these releases are

	Steps int64 // the most that main does for the rows of one unit, in steps of a few nanoseconds

	// Where a unit may have rows in more groups than it counts in, Picked is how many it counts in, and Unit is its kind;
	// else 0.
	Picked int64
	Unit   string
	// Rows is R, where a unit may have more rows than the R that it counts with; 0: it counts with all its rows, which
	// main proves.
	Rows int64
	// RowsInGroup is the same of its rows in one group, beside Rows; 0: it counts with all of them there.
	RowsInGroup int64         `json:",omitempty"`
	MostRows    int64         // a public bound on the rows of all groups; 0: nobody knows one
	Beyond      []release.Cut // keys of which some values are in no group
	// Uncovered says that rows are left out, or taken for ones that fulfil a condition or are in a group, which no
	// declared share counts: there are no intervals.
	Uncovered bool `json:",omitempty"`
	// LeftOut is the share of rows that the administrator says is beyond Rows; nil: unknown.
	LeftOut *float64

	Question *release.Question `json:"-"` // nil: it and other blocks say nothing of each other
}

// Histogram is the measure query of Quantile releases that share one expression: rows (group as in Measure but without
// the number of units, grid step, count), sparse, in any order.
type Histogram struct {
	Measure  SQL
	Releases []int // indexes into Block.Releases
}
