package query

import (
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltext"
)

// Query gives rows.
type Query interface{ writeQuery(w *writer) }

// Select is one query level.
type Select struct {
	Distinct   bool
	DistinctOn []Scalar
	Outputs    []Output
	From       Source // nil: one row
	Where      []Scalar
	Groups     int // the first so many outputs are grouped by; 0: no GROUP BY
	OrderBy    []Scalar
	Limit      int64 // 0: none
	Fence      Fence
}

// Output is one column of a Select. An empty name is none.
type Output struct {
	X    Scalar
	Name string
}

// Fence keeps the planner from merging a subquery into what reads it; empty: it may.
type Fence string

const (
	// FenceAll keeps a correlated subquery from becoming a hash table of all rows.
	FenceAll Fence = " OFFSET 0"
	// FenceParallel still lets the planner aggregate in parallel: '0' is a constant when it looks, the number 0 a cast.
	FenceParallel Fence = " OFFSET '0'"
)

func (s *Select) writeQuery(w *writer) {
	w.text("SELECT ")
	switch {
	case s.DistinctOn != nil:
		F("DISTINCT ON ({}) ", List{", ", s.DistinctOn}).write(w)
	case s.Distinct:
		w.text("DISTINCT ")
	}
	for i, o := range s.Outputs {
		if i > 0 {
			w.text(", ")
		}
		o.X.write(w)
		if o.Name != "" {
			w.text(" AS " + o.Name)
		}
	}
	if s.From != nil {
		w.text(" FROM ")
		s.From.writeSource(w)
	}
	if len(s.Where) > 0 {
		w.text(" WHERE ")
		List{" AND ", s.Where}.write(w)
	}
	for i := range s.Groups {
		if i == 0 {
			w.text(" GROUP BY ")
		} else {
			w.text(", ")
		}
		Integer(int64(i + 1)).write(w)
	}
	if len(s.OrderBy) > 0 {
		w.text(" ORDER BY ")
		List{", ", s.OrderBy}.write(w)
	}
	if s.Limit > 0 {
		F(" LIMIT {}", s.Limit).write(w)
	}
	w.text(string(s.Fence))
}

// SetOp combines the rows of queries: Op is UNION ALL, INTERSECT or EXCEPT, perhaps with ALL.
type SetOp struct {
	Op string
	Of []Query
}

func (s *SetOp) writeQuery(w *writer) {
	for i, q := range s.Of {
		if i > 0 {
			w.text(" " + s.Op + " ")
		}
		q.writeQuery(w)
	}
}

// Source is a FROM item.
type Source interface{ writeSource(w *writer) }

// Table is a table of main. Only leaves its inheritance children out.
type Table struct {
	Name policy.Name
	Only bool
	As   *Alias
}

func (t *Table) writeSource(w *writer) {
	if w.tables != nil {
		w.tables[t.As] = t.Name
	}
	if t.Only {
		w.text("ONLY ")
	}
	w.text(sqltext.Ident(t.Name.Schema) + "." + sqltext.Ident(t.Name.Relation) + " AS ")
	w.alias(t.As)
}

// Values is a list of rows.
type Values struct {
	Rows    [][]Scalar
	As      *Alias
	Columns []string
}

func (v *Values) writeSource(w *writer) {
	w.text("(VALUES ")
	for i, row := range v.Rows {
		if i > 0 {
			w.text(", ")
		}
		F("({})", List{", ", row}).write(w)
	}
	w.text(") AS ")
	w.alias(v.As)
	w.columns(v.Columns)
}

// Function is a set-returning function of pg_catalog in FROM.
type Function struct {
	Call       Scalar
	Ordinality bool
	As         *Alias
	Columns    []string
}

func (f *Function) writeSource(w *writer) {
	f.Call.write(w)
	if f.Ordinality {
		w.text(" WITH ORDINALITY")
	}
	w.text(" AS ")
	w.alias(f.As)
	w.columns(f.Columns)
}

// Derived is a query in FROM. A lateral one reads the items before it.
type Derived struct {
	Query   Query
	As      *Alias
	Lateral bool
}

func (d *Derived) writeSource(w *writer) {
	if d.Lateral {
		w.text("LATERAL ")
	}
	w.parenthesised(d.Query)
	w.text(" AS ")
	w.alias(d.As)
}

// Join joins two items: Kind is INNER, LEFT or FULL.
type Join struct {
	Kind        string
	Left, Right Source
	On          []Scalar // at least one
}

func (j *Join) writeSource(w *writer) {
	w.text("(")
	j.Left.writeSource(w)
	w.text(" " + j.Kind + " JOIN ")
	j.Right.writeSource(w)
	F(" ON ({}))", List{" AND ", j.On}).write(w)
}

// Product joins one or more items without a condition of its own.
type Product []Source

func (p Product) writeSource(w *writer) {
	if len(p) == 1 { // parentheses are for joins
		p[0].writeSource(w)
		return
	}
	w.text("(")
	for i, s := range p {
		if i > 0 {
			w.text(" CROSS JOIN ")
		}
		s.writeSource(w)
	}
	w.text(")")
}

// Once asks whether the rows of an item hold each combination of columns at most once.
func Once(from Source, columns []Scalar) Query { return once{from, columns} }

type once struct {
	from    Source
	columns []Scalar
}

func (o once) writeQuery(w *writer) {
	w.text("SELECT NOT EXISTS (SELECT FROM ")
	o.from.writeSource(w)
	F(" GROUP BY {} HAVING count(*) > 1)", List{", ", o.columns}).write(w)
}
