package relation

import (
	"fmt"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// Stage is a query over released values whose rows a measure reads: a stage of its statement (docs/privacy.md P28).
// Main gets the rows as arrays, when the stage has been answered; a plan knows their types, and nothing of their
// values.
type Stage struct {
	Number  int // in the statement, from 0
	Columns []schema.ColumnDescription
	// columns in which no two rows agree, by the SQL of the stage; empty and not nil: there is one row; nil: no such
	Unique  []int
	Rows    int64 // the most rows that it may have
	Limited bool  // by its own LIMIT: a join may multiply by it
}

// StageType says whether values of a type can be read by a measure.
func StageType(oid uint32) bool {
	switch oid {
	case pgtype.BoolOID, pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.NumericOID, pgtype.Float4OID,
		pgtype.Float8OID, pgtype.TextOID, pgtype.VarcharOID, pgtype.BPCharOID,
		pgtype.DateOID, pgtype.TimestampOID, pgtype.TimestamptzOID, pgtype.IntervalOID, pgtype.UUIDOID:
		return true
	}
	return false
}

// TooLong says that a value of a type is longer than counts in the work of what reads it (docs/privacy.md P22a).
func TooLong(oid uint32, value schema.Canonical) bool {
	switch {
	case oid == pgtype.NumericOID:
		return len(value) > expr.UnknownDigits+len("-0.")
	case pgresolve.IsString(oid):
		return utf8.RuneCountInString(string(value)) > expr.UnknownChars
	}
	return false
}

// ArrayTypes gives the types of arrays of the columns.
func (s *Stage) ArrayTypes() []uint32 {
	out := make([]uint32, len(s.Columns))
	for i, c := range s.Columns {
		out[i] = pgresolve.LookupType(c.Type).Array
	}
	return out
}

// StageRows makes the relation of a stage's rows. What has to be unique is made so where the rows are read, whatever
// they are: of those that main finds equal it takes the first.
func (b *Base) StageRows(s *Stage) *Relation {
	r := &Relation{Proven: true, publicRows: s.Rows, Steps: expr.MulSteps(s.Rows, constantSteps)}
	if s.Limited {
		r.MaxRowsPerUnit = s.Rows
	}
	listed, alias := b.NewAlias(), b.NewAlias()
	var arrays, outputs []query.Scalar
	var names []string
	for i, c := range s.Columns {
		name := fmt.Sprintf("c%d", i+1)
		array := &query.Parameter{Parameter: schema.Parameter{Type: schema.ArrayOf(c.Type), Given: &schema.StageColumn{
			Stage: s.Number, Column: i,
		}}}
		arrays = append(arrays, query.F("pg_catalog.unnest({}::{}[])", array, schema.TypeName(c.Type)))
		names, outputs = append(names, name), append(outputs, listed.Column(name))
		n := &Column{Name: c.Name, Value: &expr.Column{
			Ref: alias.Column(name), Name: c.Name, Type: c.Type, Typmod: -1, TypeName: schema.TypeName(c.Type), Nullable: true,
			Scale: -1, DeterministicCollation: true,
		}}
		n.Value.Source = n
		r.Columns = append(r.Columns, n)
	}
	rows := &query.Select{From: &query.Function{
		Call:       query.F("ROWS FROM ({})", query.List{Between: ", ", Of: arrays}),
		Ordinality: true, As: listed, Columns: append(names, "o"),
	}}
	for i, x := range outputs {
		rows.Outputs = append(rows.Outputs, query.Output{X: x, Name: fmt.Sprintf("c%d", i+1)})
	}
	if s.Limited {
		rows.Limit = s.Rows
		rows.OrderBy = []query.Scalar{listed.Column("o")}
	}
	if s.Unique != nil {
		rows.OrderBy = nil
		set := UniqueSet{}
		for _, i := range s.Unique {
			set.Columns = append(set.Columns, r.Columns[i])
			rows.DistinctOn, rows.OrderBy = append(rows.DistinctOn, outputs[i]), append(rows.OrderBy, outputs[i])
		}
		rows.OrderBy = append(rows.OrderBy, listed.Column("o"))
		r.Order = []query.Scalar{}
		for _, c := range set.Columns {
			r.Order = append(r.Order, c.Value.Ref)
		}
		r.Unique = []UniqueSet{set}
	}
	r.From = &query.Derived{Query: rows, As: alias}
	for _, c := range r.Columns {
		c.Stage = r.From
	}
	r.Plan = NewPlanNode(fmt.Sprintf("rows of stage %d", s.Number+1))
	return r
}
