package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"
)

// ownTypes are numbered by the database itself, from here on.
const ownTypes = 16384

// difference says how an answer is not PostgreSQL's; "" if it is. Values are equal up to the grid of a release.
func (w *world) difference(ctx context.Context, q question, got, want *pgconn.Result) (string, error) {
	if d := otherColumns(got.FieldDescriptions, want.FieldDescriptions); d != "" {
		return d, nil
	}
	g, err := w.rows(ctx, got)
	if err != nil {
		return "", err
	}
	p, err := w.rows(ctx, want)
	if err != nil {
		return "", err
	}
	near := nearness{share: grid, off: q.near + 1e-6}
	if strings.Contains(strings.ToLower(q.sql), "percentile_") {
		near.share = interpolation
	}
	if len(g) != len(p) || !sameRows(g, p, near) {
		return fmt.Sprintf("%d rows, want %d\ngot   %s\nwant  %s", len(g), len(p), sample(g, p, near), sample(p, g, near)),
			nil
	}
	columns, err := sortColumns(q.sql, want.FieldDescriptions)
	if err != nil {
		return "", err
	}
	for i := range p {
		for _, c := range columns {
			if !g[i][c].equals(p[i][c], near) {
				return fmt.Sprintf("row %d in another order: %s, want %s", i+1, g[i], p[i]), nil
			}
		}
	}
	return "", nil
}

// otherColumns says how columns are not PostgreSQL's in number, name or type; "" if they are.
func otherColumns(got, want []pgconn.FieldDescription) string {
	if len(got) != len(want) {
		return fmt.Sprintf("%d columns, want %d", len(got), len(want))
	}
	for i, f := range want {
		g := got[i]
		if g.Name != f.Name || g.DataTypeOID != f.DataTypeOID && (f.DataTypeOID < ownTypes || g.DataTypeOID < ownTypes) {
			return fmt.Sprintf("column %d is %s of type %d, want %s of type %d", i+1, g.Name, g.DataTypeOID, f.Name, f.DataTypeOID)
		}
	}
	return ""
}

// Shares of a number that it may be off: by the grid of its release, or because PostgreSQL interpolates percentiles and
// a release takes one of the points between.
const (
	grid          = 2e-3
	interpolation = 2e-2
)

// nearness is how far a number may be off.
type nearness struct{ share, off float64 }

// value is one of a result: its text, and its number where it has one.
type value struct {
	text   string
	number float64
	typ    uint32
}

// null is NULL: it equals itself alone.
var null = value{text: "∅", number: math.NaN()}

func (v value) String() string { return v.text }

// equals reports whether two values are equal up to the grid of a release; counts and sums of integers exactly, unless
// they are large.
func (v value) equals(o value, near nearness) bool {
	if v.text == o.text {
		return true
	}
	if strings.HasPrefix(v.text, "{") && strings.HasPrefix(o.text, "{") {
		return slices.EqualFunc(v.elements(), o.elements(), func(a, b value) bool { return a.equals(b, near) })
	}
	if math.IsNaN(v.number) || math.IsNaN(o.number) {
		return false
	}
	apart, size := math.Abs(v.number-o.number), math.Max(math.Abs(v.number), math.Abs(o.number))
	switch {
	case apart <= near.off:
		return true
	case v.typ == pgtype.DateOID:
		return false
	case v.typ == pgtype.TimestampOID || v.typ == pgtype.TimestamptzOID:
		return apart <= 2
	case v.typ == pgtype.Int2OID || v.typ == pgtype.Int4OID || v.typ == pgtype.Int8OID:
		return apart <= 1e-6*size
	}
	return apart <= near.share*size
}

// elements are those of an array of numbers.
func (v value) elements() []value {
	var list []value
	for text := range strings.SplitSeq(strings.Trim(v.text, "{}"), ",") {
		list = append(list, numbered(text, pgtype.NumericOID))
	}
	return list
}

// numbered is a value whose text may be a number.
func numbered(text string, typ uint32) value {
	v := value{text: text, number: math.NaN(), typ: typ}
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		v.number = f
	}
	return v
}

type row []value

func (r row) equals(o row, near nearness) bool {
	return slices.EqualFunc(r, o, func(a, b value) bool { return a.equals(b, near) })
}

// sameRows pairs the rows of two answers, whatever their order.
func sameRows(a, b []row, near nearness) bool { return len(unpaired(a, b, near)) == 0 }

// unpaired are the rows of a that have no partner in b.
func unpaired(a, b []row, near nearness) []row {
	taken := make([]bool, len(b))
	var alone []row
	for i, r := range a {
		at := -1
		if i < len(b) && !taken[i] && r.equals(b[i], near) {
			at = i
		}
		for j := 0; at < 0 && j < len(b); j++ {
			if !taken[j] && r.equals(b[j], near) {
				at = j
			}
		}
		if at < 0 {
			alone = append(alone, r)
			continue
		}
		taken[at] = true
	}
	return alone
}

// sample prints some rows of a without a partner in b.
func sample(a, b []row, near nearness) string {
	alone := unpaired(a, b, near)
	more := ""
	if len(alone) > 5 {
		alone, more = alone[:5], " …"
	}
	return fmt.Sprint(alone) + more
}

// seconds are the types whose values are compared as seconds.
var seconds = map[uint32]string{
	pgtype.IntervalOID: "interval", pgtype.TimestampOID: "timestamp",
	pgtype.TimestamptzOID: "timestamptz",
}

// rows reads a result; PostgreSQL itself says how many seconds a time or a duration is.
func (w *world) rows(ctx context.Context, r *pgconn.Result) ([]row, error) {
	var list []row
	for _, raw := range r.Rows {
		var out row
		for i, text := range raw {
			typ := r.FieldDescriptions[i].DataTypeOID
			v := null
			if text != nil {
				v = numbered(string(text), typ)
			}
			if cast := seconds[typ]; cast != "" && text != nil {
				if err := w.direct.QueryRow(ctx, "SELECT extract(epoch FROM $1::text::"+cast+")::float8", v.text).Scan(&v.number); err != nil {
					return nil, err
				}
			}
			out = append(out, v)
		}
		list = append(list, out)
	}
	return list, nil
}

// sortColumns are the result columns that ORDER BY names. Rows that are equal there may come in any order, and so may
// all where ORDER BY computes something that is no column.
func sortColumns(sql string, fields []pgconn.FieldDescription) ([]int, error) {
	parsed, err := pg_query.Parse(sql)
	if err != nil {
		return nil, err
	}
	var list []int
	for _, n := range parsed.Stmts[len(parsed.Stmts)-1].Stmt.GetSelectStmt().GetSortClause() {
		at := int(n.GetSortBy().Node.GetAConst().GetIval().GetIval()) - 1
		if names := n.GetSortBy().Node.GetColumnRef().GetFields(); len(names) > 0 {
			at = slices.IndexFunc(fields, func(f pgconn.FieldDescription) bool {
				return f.Name == names[len(names)-1].GetString_().GetSval()
			})
		}
		if at < 0 {
			return list, nil
		}
		list = append(list, at)
	}
	return list, nil
}
