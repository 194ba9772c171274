package schema

import (
	"slices"

	"github.com/dpproxy/dpproxy/internal/policy"
)

// Settings are the session settings that change a statement's meaning.
type Settings struct {
	TimeZone, DateStyle, IntervalStyle string
	User, Database                     string // what the client connected as
	MaxRows                            int    // bounds the rows of a unit where the policy allows more; 0: it does not
	MaxRowsPerGroup                    int    // the same of its rows in one group
	Intervals                          bool   // an aggregate without an interval has NULL ends, and is no refusal

	// SyntheticRows says that the synthetic twin answers what would be refused since it returns private rows, Synthetic
	// that it answers whatever names private tables. Neither reaches a plan.
	SyntheticRows, Synthetic bool `json:"-"`
}

// Canonical is a value in a text form that PostgreSQL reads as that very value whatever its settings are: ISO dates,
// instants in UTC with their offset, intervals with a sign for every field, floats with all digits. Every value that
// crosses from one database to another is one (P24). Only backend makes them, in one function; tests/architecture keeps
// it so.
type Canonical string

// Values are a statement's parameters, read by the shadow; nil is NULL.
type Values []*Canonical

// MostListed is how many values a list may have that a plan is made with.
const MostListed = 1_000_000

// Lookup answers what a plan has to know beyond the schema. No method reads a private row.
type Lookup interface {
	// Distinct returns the distinct non-NULL values of a public column of a type, ordered by the column (P10); where there
	// are more than MostListed, the first ones and one more.
	Distinct(c policy.ColumnOf, oid uint32) ([]Canonical, error)
	// Rows evaluates a query without tables on the shadow, where it means what it means on main.
	Rows(q Query) (*Table, error)
	// PublicRows evaluates a query over public tables alone, which means there what it means on main (P10a).
	PublicRows(q Query) (*Table, error)
	// Listed evaluates a query of the client's over public tables alone, or over none (P4g).
	Listed(q ClientQuery) ([][]*Canonical, error)
	// Literal has the shadow read a constant of a type as the session would. It is asked anew each time: "today" and "now"
	// are constants too.
	Literal(oid uint32, text string) (Canonical, error)
	// Expression gives the value of the n-th expression of the statement's Constants; nil is NULL. Not known where nobody
	// has asked.
	Expression(n int) (value *Canonical, known bool)
}

// Constants are what a statement asks of the shadow before it can be planned, whatever else the plan will need: with
// the parameters' values, they are one question.
type Constants struct {
	Literals    []Literal
	Expressions []Expression
}

// Expression is one over the statement's parameters that reads no row, with its type.
type Expression struct {
	Type uint32
	SQL  string
}

// Literal is a constant as the statement writes it, with its type.
type Literal struct {
	Type uint32
	Text string
}

// Query is a SELECT with the types of its columns.
type Query struct {
	SQL   string
	Types []uint32
}

// ClientQuery is a SELECT in the client's own words, which mean what the session's settings say. Where it runs, its
// values are arrays until they are spelled, as those of a stage are.
type ClientQuery struct {
	SQL        string // one row: an array for each column, or NULL where there are no rows
	On         Route
	Columns    int
	Parameters []int // of the client, as the SQL numbers them
	Clock      bool  // it reads the clock: its rows may be others at another time
	List       Query // makes rows of the arrays, which are its parameters
}

// Proof is a fact that a sensitivity rests on and that main proves in its own snapshot. It is one of three kinds:
//   - Relation still has the Shape that the plan was made for, its own and that of Columns, which the plan relies on:
//     their types, collations and so on (P1);
//   - Columns of Relation hold each combination at most once: a valid, immediate, non-partial, non-expression unique
//     index over exactly these columns, or a subset of them (P1);
//   - Values is true: a query over public values or rows alone. With Of, it asks whether values differ under the
//     equality that the measure query compares them by (P25), and Of names them for the analyst; without, whether
//     public rows are as the plan has read them (P4e, P10b).
type Proof struct {
	Relation policy.Name
	Shape    string
	Columns  []string

	Values SQL
	Of     string
}

// Equal reports whether two proofs ask main the same.
func (p Proof) Equal(o Proof) bool {
	return p.Relation == o.Relation && p.Shape == o.Shape && slices.Equal(p.Columns, o.Columns) &&
		p.Values.Text == o.Values.Text && slices.EqualFunc(p.Values.Parameters, o.Values.Parameters, sameParameter)
}

func sameParameter(a, b Parameter) bool {
	if (a.Given == nil) != (b.Given == nil) || a.Given != nil && *a.Given != *b.Given {
		return false
	}
	return a.Type == b.Type && (a.Value == nil) == (b.Value == nil) && (a.Value == nil || *a.Value == *b.Value)
}

// SQL is a text with its parameters.
type SQL struct {
	Text       string
	Parameters []Parameter
}

// Parameter is one bound value; nil is NULL.
type Parameter struct {
	Type  uint32
	Value *Canonical
	Given *StageColumn // the value is known once a stage of the statement is answered; nil: it is Value
}

// StageColumn is a column of the rows that a stage of a statement answers, numbered from 0 (docs/privacy.md P28). A
// parameter of it is an array of its type, in the order of the rows.
type StageColumn struct{ Stage, Column int }

// List is an array of the column's values: stages are [stage][row][column].
func (c StageColumn) List(stages [][][]*Canonical) Canonical {
	return TextArray(KeyColumn(KeyRows(stages[c.Stage]), c.Column))
}

// With is the SQL with the values that stages have answered: [stage][row][column].
func (q SQL) With(stages [][][]*Canonical) SQL {
	out := SQL{Text: q.Text, Parameters: slices.Clone(q.Parameters)}
	for i, p := range q.Parameters {
		if p.Given == nil {
			continue
		}
		list := p.Given.List(stages)
		out.Parameters[i] = Parameter{Type: p.Type, Value: &list}
	}
	return out
}
