package gate

import (
	"cmp"
	"errors"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/certify"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// Query is a query for main as EXPLAIN (FORMAT JSON) gives it to an auditor, and `dpproxy certify --measure` reads it.
type Query struct {
	SQL        string          `json:"sql"`
	Parameters []certify.Value `json:"parameters"`
	Claims     []certify.Claim `json:"claims"`
}

// Reading is what certify derives of a query.
type Reading struct {
	Query
	Certified bool             `json:"certified"`
	Outputs   []certify.Output `json:"outputs,omitempty"`
	Missing   string           `json:"missing,omitempty"` // what could not be derived
	At        int              `json:"at,omitempty"`      // the byte of the SQL where that stands, from 1; 0: nowhere

	Derivation []certify.Step `json:"derivation,omitempty"` // where Derived has been asked
}

// Queries are those of a block.
func Queries(k *rewrite.Block) []Query {
	var out []Query
	for _, m := range Measures(k) {
		out = append(out, queryOf(m))
	}
	return out
}

// queryOf hides the seed by which the rows of a unit are chosen (docs/privacy.md P11): no rule reads it. What stages
// answer is not known yet.
func queryOf(m Measure) Query {
	q := Query{SQL: m.SQL.Text, Claims: m.Claims}
	values, err := Parameters(m.SQL)
	if err != nil {
		return q // certify says so, too
	}
	zero := "0"
	for i, p := range m.SQL.Parameters {
		if p.Type == pgtype.Int8OID {
			values[i].Elements = []*string{&zero}
		}
	}
	q.Parameters = values
	return q
}

// Read is what certify derives of queries that are measured in one snapshot, whoever has written them.
func Read(facts certify.Facts, queries []Query) []Reading {
	measures, results := make([]Measure, len(queries)), make([]Result, len(queries))
	failed := false
	for i, q := range queries {
		certified, err := certify.Check(facts, q.SQL, q.Parameters, q.Claims)
		measures[i], results[i], failed = Measure{Claims: q.Claims}, Result{certified, err}, failed || err != nil
	}
	var together error
	if !failed {
		together = jointly(measures, results)
	}
	out := make([]Reading, len(queries))
	for i, q := range queries {
		out[i] = reading(q, results[i], together)
	}
	return out
}

// Derived adds to readings how they were derived, rule by rule.
func Derived(facts certify.Facts, readings []Reading) []Reading {
	for i, r := range readings {
		readings[i].Derivation = certify.Derive(facts, r.SQL, r.Parameters, r.Claims)
	}
	return readings
}

// reading is what is known of a query: it is not certified either where what all of them are charged for together is
// not.
func reading(q Query, of Result, together error) Reading {
	err := cmp.Or(of.Err, together)
	r := Reading{Query: q, Certified: err == nil, Outputs: of.Certified.Outputs}
	var missing *certify.Error
	switch {
	case errors.As(err, &missing):
		r.Missing, r.At = "no rule for "+missing.Rule+": "+missing.What, missing.At+1
	case err != nil:
		r.Missing = err.Error()
	}
	return r
}
