package policy

import (
	"slices"
	"strings"
	"time"

	"github.com/dpproxy/dpproxy/internal/mechanism"
)

// Policy is a policy file after validation: every default is filled in, every reference resolved.
type Policy struct {
	File string `yaml:"-"` // as named on the command line
	// what clients call the database, where the file has several; empty: as main's connection does
	Name    string `yaml:"-"`
	Version string `yaml:"-"` // hex SHA-256 of what the file means for answers; part of cache and ledger records

	Listen         string
	Insecure       bool
	TLS            *TLS      // nil: none
	Databases      Databases `yaml:"-"`
	Ledger         string    // absolute "file:/…" or "postgres://…"
	Accounting     Accounting
	Defaults       Defaults      `yaml:"-"`
	AnswersTTL     time.Duration `yaml:"-"` // 0: no answer cache
	Certify        string        // Require or Warn: whether a query for main runs that is not certified
	Timing         Timing        `yaml:"-"`
	Failures       int           `yaml:"-"` // of main that one analyst may cause per budget period
	Console        *Console      // nil: none
	Auth           Auth
	Budget         *Budget // all analysts together; nil: none
	Profile        *Budget // of `dpproxy profile`; nil: none of its own
	Rows           string  // RefuseRows or SyntheticRows: what a statement that returns private rows gets
	Synthetic      *Budget // of `dpproxy synthesize`; nil: there is no synthetic twin
	Metrics        string  `yaml:"-"` // listen address; empty: none
	AnalystMetrics bool    `yaml:"-"` // also with the names of analysts
	Log            Log
	Tracing        *Tracing            // nil: none
	Limits         Limits              `yaml:"-"`
	Pool           Pool                `yaml:"-"`
	Groups         map[string]Budget   `yaml:"-"` // of their analysts, each of whom has it for themselves
	Members        *Members            `yaml:"-"` // users that the policy does not list; nil: none has logged in
	Analysts       map[string]*Analyst `yaml:"-"`
	Tables         []*Table            `yaml:"-"`
	Views          []Name              `yaml:"-"`
	Beside         []string            `yaml:"-"` // names of the other databases of the file
	Access         *Access             `yaml:"-"` // nil: every analyst may connect
	// each database of the file as a policy of its own, that has all but connections, tables and views in common; nil:
	// there is one
	Several []*Policy `yaml:"-"`

	// Notes are no problems; check prints them.
	Notes Errors `yaml:"-"`

	places  places
	missing map[string]Problem // key → why its connection string is not known
}

// Policy.Certify.
const (
	Require = "require"
	Warn    = "warn"
)

// Policy.Rows and Analyst.Rows.
const (
	RefuseRows    = "refuse"
	SyntheticRows = "synthetic"
)

// TLS names PEM files; relative paths are resolved from the policy's folder.
type TLS struct {
	Cert, Key string
	ClientCA  string `yaml:"client_ca"`
}

// Databases holds the DSNs, with their secrets. One that is not there leaves the DSN empty, and the reason in Unset.
type Databases struct {
	Main, Shadow, Public                string
	Synthetic                           string            // reads the twin; empty: there is none
	Synthesize                          string            // writes the twin; without one of its own, as the administrator
	AdminMain, AdminShadow, AdminLedger string            // equal where the policy gives one admin DSN
	Unset                               map[string]string // databases key → why its DSN is not known
}

// Timing says when the outcome of a measure may be known: Steps^k milliseconds after the statement started, and from
// there on a multiple of Quantum.
type Timing struct {
	Steps   float64       // above 1; 0: off
	Quantum time.Duration // 0: none
}

// Method names how charges add up.
type Method string

const (
	RDP  Method = "rdp"
	Pure Method = "pure"
)

// Accounting says how charges compose. Delta is that of one statement, and the default of a budget's.
type Accounting struct {
	Method              Method
	Delta               float64 // 0 under pure
	SelectionDeltaShare float64 `yaml:"selection_delta_share"` // share of an analyst's δ that partition selection may use
}

// Defaults hold for what no table or column overrides.
type Defaults struct {
	Epsilon, EpsilonMax float64
	// of half of an answer's numbers, as a part of each: no more is spent than it needs; 0: always Epsilon
	Margin           float64
	Mechanism        mechanism.Choice
	MaxGroupsPerUnit int    // 0: any number
	EmptyGroups      string // of statements, without SET: DropEmptyGroups or KeepEmptyGroups
	Intervals        bool   // of statements, without SET: x_low and x_high behind each aggregate x
}

// What happens to groups of declared keys that no row is in.
const (
	DropEmptyGroups = "drop"
	KeepEmptyGroups = "keep"
)

// Auth says how analysts prove who they are.
type Auth struct {
	Method string // "scram", "certificate", "query" or "ldap"
	DSN    string // query: where verifiers are
	Query  string // query: $1 = user; columns name, verifier, and group if there are three
	LDAP   LDAP   `yaml:",inline"` // ldap: the directory
	// query: of users that the policy does not list and the query names no group of; empty: they are not admitted
	DefaultGroup string `yaml:"default_group"`
}

// LDAP says where a password is proved by a bind.
type LDAP struct {
	URL string // ldaps://host:port
	DN  string // with one %s, where the user's name goes
	CA  string // PEM file of who signs the directory's certificate; empty: those that the system trusts
}

// Budget bounds an analyst's composed (ε, δ), per period if Every is not 0.
type Budget struct {
	Epsilon, Delta float64
	Every          time.Duration
}

// Names under which the ledger keeps what `dpproxy profile` and `dpproxy synthesize` spend. No analyst has one.
const (
	ProfileAccount   = "*profile"
	SyntheticAccount = "*synthetic"
)

// OwnAccounts are those that commands charge.
var OwnAccounts = []string{ProfileAccount, SyntheticAccount}

// Tracing says where traces of statements go.
type Tracing struct {
	Endpoint string            // URL of a collector that takes OTLP over HTTP, without /v1/traces
	Share    float64           // of the statements, above 0
	Headers  map[string]string // of each request, with their secrets
	CA       string            // PEM file of who signs the collector's certificate; empty: those that the system trusts
}

// Log says what goes to the log beside events of the proxy itself.
type Log struct {
	Statements bool // a line for each statement
}

// Console is where browsers connect to.
type Console struct {
	Listen string
	Names  []string // of this server beside its addresses and those of its certificate, in lower case
}

// Limits protect the proxy.
type Limits struct {
	Connections int
	PerAddress  int   `yaml:"per_address"`
	SQLBytes    int   `yaml:"sql_bytes"`
	Memory      int64 `yaml:"-"` // that clients may make the proxy keep, bytes
}

// Pool sizes the backend pools.
type Pool struct {
	Main, Shadow, Public int
	Wait                 time.Duration `yaml:"-"`
}

// Analyst describes one login and its budget.
type Analyst struct {
	Name        string `yaml:"-"`
	Verifier    string `yaml:"password"` // SCRAM-SHA-256$…; empty with certificates and auth by query
	Certificate string // CN or SAN
	Group       string // whose budget it is, for each of its analysts; empty: their own
	Rows        string // RefuseRows or SyntheticRows; empty: the policy's
	Budget      Budget
}

// Name is a schema-qualified relation name.
type Name struct{ Schema, Relation string }

func (n Name) String() string { return n.Schema + "." + n.Relation }

// Table is what the policy says of one relation.
type Table struct {
	Name   Name `yaml:"-"`
	Public bool
	// columns of a public table that lead to people, whose facts its rows are not
	RefersToPeople []string `json:",omitempty" yaml:"-"`
	// of a public table: no column leads to people, whatever it is called
	RefersToNobody bool  `json:",omitempty" yaml:"-"`
	Unit           *Unit `yaml:"privacy_unit"` // nil for public tables
	// in a whole answer; rewrite enforces it or proves 1 from an index
	MaxRowsPerUnit   int              `yaml:"max_rows_per_unit"`
	MaxRowsPerGroup  int              `yaml:"max_rows_per_unit_and_group"` // of one unit in one group; 0: any number
	MaxRows          int64            `yaml:"max_rows"`                    // 0: unknown
	Epsilon          float64          `yaml:"-"`
	EpsilonMax       float64          `yaml:"-"`
	Mechanism        mechanism.Choice `yaml:"-"`
	MaxGroupsPerUnit int              `yaml:"-"` // 0: any number
	// share of the rows, and of sums with PerUnit, beyond what a unit counts with, which the administrator vouches for;
	// nil: unknown
	LeftOut *float64  `yaml:"left_out"`
	Grid    *Grid     `yaml:"-"` // nil: by type
	Columns []*Column `yaml:"-"` // nil for a public table whose columns are all visible
}

// Unit is a table's privacy unit: a column of the table, or one reached through a foreign key.
type Unit struct {
	Name   string // the kind: "patient"
	Column string // empty with Via
	Via    *Via
}

// Via is one step of a foreign-key chain.
type Via struct {
	Column           string // this table's
	References       Name   // the table that it points to
	ReferencesColumn string
}

// Column is what the policy says of one column of a private table. Bounds and values are texts; `check --live` and
// `serve` compare them with the column's type.
type Column struct {
	Name       string    `yaml:"-"`
	Bounds     *Bounds   `yaml:"-"` // nil: none (with Valid: its hull)
	Values     []string  // declared domain; nil: none
	ValuesFrom *ColumnOf `yaml:"values_from"` // domain = a public table's column
	Valid      []Bounds  `yaml:"-"`           // ranges with gaps, for averages
	// share of the rows, and of sums over them, beyond Bounds, which the administrator vouches for; nil: unknown
	Outside *float64
	PerUnit *Bounds `yaml:"-"` // clamp of one unit's sum in a whole answer
	// of one unit in one group by this column, in place of the table's: of each value (""), or of times that are cut to a
	// unit (day, month …); nil: the table's
	MaxRowsPerGroup map[string]int    `json:",omitempty" yaml:"-"`
	Grid            *Grid             `yaml:"-"`
	Mechanism       *mechanism.Choice `yaml:"-"` // nil: the table's
	// each value is in rows of one unit alone, in this column's table and in that column's: the column itself, or the one
	// whose values these are; nil: not declared
	OfOneUnit *ColumnOf `json:",omitempty" yaml:"-"`
}

// Bounds are inclusive texts that package bound reads, Lo ≤ Hi.
type Bounds struct{ Lo, Hi string }

// ColumnOf names a column of a table.
type ColumnOf struct {
	Table  Name
	Column string
}

// Grid is a step: a number, or a duration for times.
type Grid struct {
	Number   string        // decimal text; empty with Duration
	Duration time.Duration // 0 with Number
}

// HasPublicTable reports whether databases.public is needed.
func (p *Policy) HasPublicTable() bool {
	return slices.ContainsFunc(p.Tables, func(t *Table) bool { return t.Public })
}

// RowsOf says what an analyst's statements get that return private rows: RefuseRows or SyntheticRows. What dpproxy asks
// for accounts of its own, whose names begin with *, is about the data alone.
func (p *Policy) RowsOf(analyst string) string {
	if strings.HasPrefix(analyst, "*") {
		return RefuseRows
	}
	if a := p.Analysts[analyst]; a != nil && a.Rows != "" {
		return a.Rows
	}
	return p.Rows
}

// ProfileBudget is what `dpproxy profile` may spend: its own budget, else that of all analysts together; nil: none.
func (p *Policy) ProfileBudget() *Budget {
	if p.Profile != nil {
		return p.Profile
	}
	return p.Budget
}

// Table finds a table; nil when the policy does not list it.
func (p *Policy) Table(n Name) *Table {
	for _, t := range p.Tables {
		if t.Name == n {
			return t
		}
	}
	return nil
}

// ByName gives the listed columns to who looks for many: a table may have 1,600.
func (t *Table) ByName() map[string]*Column {
	named := make(map[string]*Column, len(t.Columns))
	for _, c := range t.Columns {
		named[c.Name] = c
	}
	return named
}

// Column finds a listed column; nil when it is not listed.
func (t *Table) Column(name string) *Column {
	for _, c := range t.Columns {
		if c.Name == name {
			return c
		}
	}
	return nil
}
