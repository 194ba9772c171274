package release

import (
	"fmt"
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite/aggregate"
	"github.com/dpproxy/dpproxy/internal/rewrite/bind"
	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// Block is a release block while it is planned: groups of rows of one relation, and what is released of each group.
type Block struct {
	Source                   *relation.Relation
	Steps                    int64 // the most that main does for the rows of one unit (work.go)
	Keys                     []*Key
	Domains                  []*Domain // of all keys; nil under selection
	MaxPartitionsContributed int64     // K: the most groups that one unit counts in
	PicksGroups              bool      // the policy bounds K, and the SQL has to choose groups (docs/privacy.md P11)
	ManyGroupsPerUnit        bool      // the rows of one unit may fall into several groups
	rowsInGroup              int64     // the most rows that a unit has in one group, or counts with there
	MaxRowsPerGroup          int64     // that, where the SQL has to keep no more of them; 0: it does not
	loweredRows              bool      // the session says so, and nobody vouches for how many are left out
	groups                   int64     // G: how many groups there are; 0: nobody knows
	Uncovered                bool      // rows are left out, or taken for others, that no declared share counts
	Selected                 bool      // partition selection decides which groups exist
	ByKey                    bool      // main names a group by its keys, which public rows hold (docs/privacy.md P26a)
	SelectBy                 int       // 1 + the release that it decides by; 0: by noise of its own
	DropsEmpty               bool      // groups without rows are not shown
	Exists                   []int     // releases which say that a group has rows (exists.go)
	untold                   []string  // calls whose value over no rows no release tells
	unasked                  int       // 1 + a release that no call asks for; 0: there is none
	// the policy bounds one unit's sum (per_unit): the SQL has to clamp it, even over one row
	clamped bool

	Proofs   []schema.Proof // of the keys' values
	Chosen   bool           // released values choose groups in another way
	Limit    int            // how many groups LIMIT leaves in an order of what is released of them; 0: it leaves none out
	Windows  []Window       // sums over groups
	Compared bool           // the statement asks of its count whether there are rows

	listing *policy.Table // of whose keys alone Source has rows (bykey.go); nil: of others, too

	Measurements  []Measurement  // integers, in the order of the measure query's columns
	Histograms    []Histogram    // quantile releases by expression
	histograms    map[string]int // of Histograms: an extreme, and its rows
	Releases      []mechanism.Release
	index         map[string]int          // what is released already
	doubledCenter map[int]int64           // of each sum given its count: 2c where Σ(2x − 2c) is released
	call          *aggregate.Call         // that is being planned
	reads         map[int]*aggregate.Call // one of the calls that read the rows of a release
	parts         map[*aggregate.Call][]*aggregate.Call
	Derived       []DerivedQuantity
	Columns       []Column
	Intervals     []query.Scalar // each dpproxy.interval_low, interval_high and noise_stddev
	Kept          []query.Scalar // conditions on the keys of a group that is shown, as stages answer
	Outputs       []query.Scalar // each call, over the released columns r1, r2…
}

// Histogram is an argument whose quantiles are released.
type Histogram struct {
	SQL, Where     query.Scalar
	Releases       []int
	MaxRowsPerUnit int64
	Extreme        string // min or max: of each unit's rows in a group that one alone counts; empty: all rows do
	// the histograms that read disjoint rows, of which a unit has so many in all; itself among them; nil: it is alone
	Together []int
	Part     int    // its place among these
	rows     string // equal for histograms of one argument under one condition
}

// DerivedQuantity is a quantity of a release, or of an aggregate, that the finish query needs in addition to the
// released integers.
type DerivedQuantity struct {
	Name     string
	Release  int     // of an aggregate: its first
	Column   *Column // the aggregate; nil: of the release alone
	Quantity aggregate.Derived
}

// derive asks for a derived quantity of a release and names its column.
func (k *Block) derive(release int, what aggregate.Derived) query.Scalar {
	name := fmt.Sprintf("%s%d", what, release+1)
	for _, d := range k.Derived {
		if d.Name == name {
			return query.Name(name)
		}
	}
	k.Derived = append(k.Derived, DerivedQuantity{name, release, nil, what})
	return query.Name(name)
}

// release registers a release once; define fills it in where it is new.
func (k *Block) release(key string, define func() mechanism.Release) (int, bool) {
	if i, ok := k.index[key]; ok {
		return i, false
	}
	k.index[key] = len(k.Releases)
	k.reads[len(k.Releases)] = k.call
	r := define()
	r.Weight = askedWeight
	if r.Groups == 0 {
		r.Groups = int(k.MaxPartitionsContributed)
	}
	if r.Total == 0 {
		r.Total = r.Sensitivity
	}
	k.Releases = append(k.Releases, r)
	return len(k.Releases) - 1, true
}

// Single reports whether a unit has at most one row, proven, and nothing narrower than a row's bounds is promised
// of it: no per-unit aggregation is needed.
func (k *Block) Single() bool { return k.Source.MaxRowsPerUnit == 1 && k.Source.Proven && !k.clamped }

// Tables are those that its queries read.
func (k *Block) Tables() []*policy.Table {
	if k.listing == nil {
		return k.Source.Tables
	}
	return append(slices.Clone(k.Source.Tables), k.listing)
}

// Rows are those of the source that may be in a group: of a value beyond its bounds a key is computed in none
// (docs/privacy.md P3b).
func (k *Block) Rows() *relation.Relation {
	rows := k.Source
	for _, g := range k.Keys {
		for _, inside := range g.inside {
			rows = rows.FilteredBy(inside)
		}
	}
	return rows
}

// InEveryGroup reports whether a unit may count in all groups: there are no more.
func (k *Block) InEveryGroup() bool { return k.groups > 0 && k.MaxPartitionsContributed >= k.groups }

// count releases the number of rows where condition holds.
func (k *Block) count(name string, condition query.Scalar) int {
	i, isNew := k.release("count "+query.Key(condition), func() mechanism.Release {
		return mechanism.Release{
			Name: name, Kind: mechanism.Scalar, Range: mechanism.Between(0, k.mostRows()),
			Sensitivity: k.rowsInGroup, Total: k.Source.MaxRowsPerUnit, Row: 1, Choice: k.choice(nil), Grid: mechanism.Grid{
				Step: 1,
			},
		}
	})
	if isNew {
		k.Measurements = append(k.Measurements, Measurement{
			Release: i, Where: condition, lo: 0, Hi: k.rowsInGroup,
			ByRows: true,
		})
	}
	return i
}

// units releases the number of units with a row where condition holds.
func (k *Block) units(name string, condition query.Scalar) int {
	i, isNew := k.release("units "+query.Key(condition), func() mechanism.Release {
		return mechanism.Release{
			Name: name, Kind: mechanism.Scalar, Range: mechanism.Between(0, k.mostRows()),
			Sensitivity: 1, Total: k.MaxPartitionsContributed, Choice: k.choice(nil), Grid: mechanism.Grid{Step: 1},
		}
	})
	if isNew {
		k.Measurements = append(k.Measurements, Measurement{
			Release: i, Where: condition, lo: 0, Hi: 1, ByRows: true,
			Once: true,
		})
	}
	return i
}

// mostRows is the public bound on the rows that are read; mechanism.NoUpper where there is none.
func (k *Block) mostRows() int64 {
	if k.Source.MaxRows == 0 {
		return mechanism.NoUpper
	}
	return k.Source.MaxRows
}

// sumRange bounds the sum of rows, or of units, that add lo to hi each: there are no more units than rows.
func (k *Block) sumRange(lo, hi int64) mechanism.Range {
	return mechanism.Between(bounds.WideMul(min(0, lo), k.mostRows()), bounds.WideMul(max(0, hi), k.mostRows()))
}

// choice returns the mechanism that the policy asks for: the column's, else the first table's.
func (k *Block) choice(p *policy.Column) mechanism.Choice {
	if p != nil && p.Mechanism != nil {
		return *p.Mechanism
	}
	for _, t := range k.Source.Tables {
		if !t.Public {
			return t.Mechanism
		}
	}
	return mechanism.Choice{}
}

// callSteps is what it takes to plan an aggregate.
const callSteps = 250

// NewBlock plans the releases of an aggregating query over private rows: groups, calls and intervals are what it was
// split into, before are the blocks of the statement so far.
func (b *Planner) NewBlock(src *relation.Relation, sc *bind.Scope, groups []*pg_query.Node, calls []*pg_query.FuncCall,
	intervals []bind.Interval, before []*Block,
) (*Block, error) {
	k := &Block{
		Source: src, Compared: b.Compared, index: map[string]int{}, histograms: map[string]int{},
		doubledCenter: map[int]int64{}, reads: map[int]*aggregate.Call{},
	}
	if err := b.groupKeys(k, sc, groups); err != nil {
		return nil, err
	}
	var typed []*aggregate.Call
	for _, f := range calls {
		b.Take(callSteps)
		c, err := b.newCall(k, f, sc)
		if err != nil {
			return nil, err
		}
		typed = append(typed, c)
	}
	for _, i := range intervals {
		typed[i.Call].Ends = append(typed[i.Call].Ends, i.What)
	}
	if err := b.preservedBlock(k, typed); err != nil {
		return nil, err
	}
	k.parts, k.DropsEmpty = partsOf(typed), b.dropsEmpty(k)
	// A sum is given a count only where that is released anyway: averages come first.
	for _, c := range typed {
		if c.Name != "sum" {
			if err := aggregate.LocatedCall(b.Base, b.plan(k, c), c); err != nil {
				return nil, err
			}
		}
	}
	if err := b.countRows(k, typed); err != nil {
		return nil, err
	}
	k.Outputs, k.Columns, k.Derived, k.untold = nil, nil, nil, nil
	for _, c := range typed {
		if err := aggregate.LocatedCall(b.Base, b.plan(k, c), c); err != nil {
			return nil, err
		}
	}
	if k.SelectBy = k.selectBy(); k.SelectBy > 0 {
		k.Releases[k.SelectBy-1].Decides = true
	}
	if k.DropsEmpty {
		k.Exists = k.existence()
		for _, i := range k.Exists {
			k.Releases[i].Decides = true
		}
		k.Exists = append(k.Exists, k.suggestions()...)
	}
	var err error
	if k.Kept, err = b.keptByStages(k); err != nil {
		return nil, err
	}
	k.families()
	if b.Nests {
		b.nest(k)
	}
	b.layer(k)
	if b.Schema.Policy.Accounting.Method == policy.Pure {
		k.sumsByRows()
	}
	k.weigh(typed)
	return k, b.checkBlockWork(k, typed, before)
}

// Column says which released integers make one aggregate of the block, for NOTICE, EXPLAIN and dpproxy.interval_*.
type Column struct {
	Name string // as the analyst wrote it: "avg(cost)"
	// name of the column of its query that is this aggregate and nothing else; empty: part of an expression
	Output   string
	Type     uint32
	Releases []int // indexes into Block.Releases; for an avg: sum, count
	// How two releases, a sum z given its count n, or two counts, make the value, with Step that of z's grid:
	Parts   bool // z + n, two counts
	Average bool // Step·(z/n + DoubledCenter)
	// 1 + the count that makes it NULL where it cannot be told from that of no rows; 0: none does
	Rows          int   `json:",omitempty"`
	Chooses       bool  `json:"-"` // which groups are shown follows from it
	Choice        bool  // the greatest of the counts chooses it
	DoubledCenter int64 // else Step·(z + DoubledCenter·n)

	Cut *Cut `json:",omitempty"` // nil: no number of one unit is cut

	Moments *Moments `json:",omitempty"` // nil: it is no variance, covariance or correlation
	// The share of rows that count with the nearest bound in place of a value, at most, as the administrator says; 0 where
	// nobody knows, too.
	Outside        float64 `json:",omitempty"`
	OutsideUnknown bool    `json:",omitempty"`
	// 1 + the releases that are the ends of the interval of a quantile; 0: it is that of the range.
	Low  int `json:",omitempty"`
	High int `json:",omitempty"`

	Difference *Difference `json:"-"` // of a sum or an average; nil: none, or something bounds it
}

// Difference is one of columns whose bounds are as far apart as theirs allow (see expr.Difference), with its bounds.
type Difference struct {
	Text   string
	Type   uint32
	Lo, Hi float64
}

// Window adds up an aggregate over groups: SUM(…) OVER (…), as a running total does.
type Window struct {
	Call      int    // of the block's calls, which it adds up
	Output    string // as Column.Output
	Column    Column
	Adds      bool  // its release is what adds up
	Partition []int // keys that its partitions are of; nil: all groups are in one, or nobody knows
	Whole     bool  // it is of all rows of the partition
	Order     int   // 1 + the key in whose order it adds up all groups so far; 0: it does not, or nobody knows
	Desc      bool  // from the greatest on
	Alone     bool  // such windows read the aggregate, and nothing else does
}

// ReleasedColumn names a released column in the finish query.
func ReleasedColumn(i int) query.Name { return query.Name(fmt.Sprintf("r%d", i+1)) }

func stepOf(r mechanism.Release) float64 {
	if r.Grid.Step == 0 {
		return 1
	}
	return r.Grid.Step
}
