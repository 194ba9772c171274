package relation

import (
	"testing"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
)

// TestMetRows: a subquery that equates the first column of a unique index reads the rows that the others let have one
// value of it, and no less than that where anything is not known.
func TestMetRows(t *testing.T) {
	column := func(name string, of bounds.Interval) *Column {
		return &Column{Name: name, Value: &expr.Column{Type: pgtype.Int4OID, Bounds: of}}
	}
	order, line, free := column("order", bounds.Interval{}), column("line", bounds.Between(1, 7)),
		column("free", bounds.Interval{})
	for _, c := range []struct {
		name        string
		index       []*Column
		equated     []*Column
		rows, steps int64
	}{
		{"the first column", []*Column{order, line}, []*Column{order}, 7, 40 + 100 + 7*50},
		{"another column", []*Column{order, line}, []*Column{line}, 400, 100 + 400*49},
		{"nothing", []*Column{order, line}, nil, 400, 100 + 400*49},
		{"a column without bounds behind it", []*Column{order, free}, []*Column{order}, 400, 100 + 400*49},
		{
			"more values than rows",
			[]*Column{order, column("wide", bounds.Between(0, 1000))},
			[]*Column{order},
			400,
			100 + 400*49,
		},
	} {
		r := &Relation{ToUnit: &ForeignKeyStep{}, MaxRowsPerUnit: 400}
		r.AddWork(expr.Work{Row: 49, Once: 100}, r.Size())
		r.noteIndexedRows(c.index)
		for _, e := range c.equated {
			r.Correlated = append(r.Correlated, Correlation{Inner: e})
		}
		if rows, steps := r.correlatedWork(); rows != c.rows || steps != c.steps {
			t.Errorf("%s: %d rows and %d steps, want %d and %d", c.name, rows, steps, c.rows, c.steps)
		}
	}
}
