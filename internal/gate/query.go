package gate

import (
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
	At        int              `json:"at,omitempty"`      // where that stands in the SQL, from 1; 0: nowhere
}

// Queries are those of a block.
func Queries(k *rewrite.Block) []Query {
	var out []Query
	for _, m := range Measures(k) {
		out = append(out, queryOf(m))
	}
	return out
}

// queryOf hides the seed by which the rows of a unit are chosen (docs/privacy.md P11): no rule reads it. What stages answer is not known yet.
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

// Read is what certify derives of a query, whoever has written it.
func Read(facts certify.Facts, q Query) Reading {
	certified, err := certify.Check(facts, q.SQL, q.Parameters, q.Claims)
	return reading(q, Result{certified, err})
}

func reading(q Query, of Result) Reading {
	r := Reading{Query: q, Certified: of.Err == nil, Outputs: of.Certified.Outputs}
	var missing *certify.Error
	switch {
	case errors.As(of.Err, &missing):
		r.Missing, r.At = "no rule for "+missing.Rule+": "+missing.What, missing.At+1
	case of.Err != nil:
		r.Missing = of.Err.Error()
	}
	return r
}
