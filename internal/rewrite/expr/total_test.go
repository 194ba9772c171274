package expr

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// canonicalSQL prints a value's canonical units as text, with NaN and infinities as words.
func canonicalSQL(e *Expr, sql string) string {
	switch base := e.baseType(); {
	case pgresolve.IsNumber(base):
		return "(" + sql + ")::text"
	case base == pgtype.DateOID:
		return "CASE WHEN NOT isfinite(" + sql + ") THEN 'infinite' ELSE (" + sql + " - date '1970-01-01')::text END"
	case base == pgtype.TimestampOID || base == pgtype.TimestamptzOID:
		return "CASE WHEN NOT isfinite(" + sql + ") THEN 'infinite' ELSE (extract(epoch FROM " + sql +
			") * 1000000)::text END"
	case base == pgtype.TimeOID || base == pgtype.IntervalOID:
		return "(extract(epoch FROM " + sql + ") * 1000000)::text"
	}
	return "(" + sql + ")::text"
}

// TestTotal is the point of the package: over hostile rows, in several time zones, what is accepted never raises, never
// leaves its bounds, is NULL only if it says so, and keeps its scale, quantum and length; the measured integer stays
// within its steps.
func TestTotal(t *testing.T) {
	s := startServer(t)
	zones := []string{"UTC", "America/New_York", "AAA167BBB-167,J60/0,J80/0", "Asia/Kathmandu", "<X>+167:59", "<Y>-167:59"}
	if testing.Short() {
		zones = zones[:3]
	}
	for _, text := range corpus(t, "testdata/accepted.txt") {
		t.Run(text, func(t *testing.T) {
			node := parseExpr(t, strings.TrimPrefix(text, "! "))
			s.exec(t, "SET TimeZone = 'UTC'") // no proof rests on how literals are read: other zones follow
			e, err := Build(node, s.scope)
			if err != nil {
				t.Fatal(err)
			}
			for _, zone := range zones[:zonesFor(e, len(zones))] {
				s.exec(t, "SET TimeZone = '"+zone+"'")
				s.checkValues(t, e.Read())
				s.checkMeasured(t, e)
			}
		})
	}
}

// zonesFor: expressions without times depend on no zone.
func zonesFor(e *Expr, all int) int {
	times := false
	e.walk(func(x *Expr) bool {
		times = times || pgresolve.IsTime(x.baseType())
		return true
	})
	if times {
		return all
	}
	return 1
}

func (s *server) checkValues(t *testing.T, e *Expr) {
	t.Helper()
	sql := sqlOf(e)
	got, err := s.text("SELECT " + canonicalSQL(e, sql) + ", pg_typeof(" + sql + ")::oid::text, length((" + sql +
		")::text), ctid::text FROM hostile AS r")
	if err != nil {
		t.Fatalf("raises: %s\nSQL: %s", full(err), sql)
	}
	for _, row := range got {
		if err := checkValue(e, row[0], row[1], row[2]); err != nil {
			at, _ := s.text("SELECT left(r::text, 1000) FROM hostile AS r WHERE ctid = '" + *row[3] + "'")
			t.Fatalf("%v\nSQL: %s\nrow: %s", err, sql, *at[0][0])
		}
	}
}

// rational reads a value's text exactly: a float's is the shortest that reads as it.
func rational(e *Expr, s string) (*big.Rat, bool) {
	if base := e.baseType(); pgresolve.IsFloat(base) {
		size := 64
		if base == pgtype.Float4OID {
			size = 32
		}
		f, err := strconv.ParseFloat(s, size)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, false
		}
		return new(big.Rat).SetFloat64(f), true
	}
	return new(big.Rat).SetString(s)
}

func full(err error) string {
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		return fmt.Sprintf("%s %s %s", pe.Code, pe.Message, pe.Where)
	}
	return err.Error()
}

func checkValue(e *Expr, value, oid, length *string) error {
	if *oid != fmt.Sprint(e.typ) {
		return fmt.Errorf("type %s, declared %d", *oid, e.typ)
	}
	if value == nil {
		if !e.Nullable() {
			return errors.New("NULL, declared not null")
		}
		return nil
	}
	if base := e.baseType(); !pgresolve.IsNumber(base) && !pgresolve.IsTime(base) {
		if pgresolve.IsString(base) && e.maxLen >= 0 && atoi(*length) > e.maxLen {
			return fmt.Errorf("%s characters, declared at most %d", *length, e.maxLen)
		}
		return nil
	}
	v, ok := rational(e, *value)
	if !ok {
		if *value == "-Infinity" && e.bounds.Lo == nil {
			return nil
		}
		if !e.bounds.Open() && e.bounds.Hi != nil {
			return fmt.Errorf("%s, declared in %s", *value, e.bounds)
		}
		return nil
	}
	if !e.bounds.Contains(v) {
		return fmt.Errorf("%s, declared in %s", *value, e.bounds)
	}
	if e.scale >= 0 && !mul(v, bounds.Pow10(e.scale)).IsInt() {
		return fmt.Errorf("%s, declared with at most %d digits", *value, e.scale)
	}
	if pgresolve.IsFloat(e.baseType()) && e.quantum >= 0 {
		if f, _ := roundFloat(v, e.baseType()); !mul(f, bounds.Pow2(e.quantum)).IsInt() {
			return fmt.Errorf("%s, declared a multiple of 2^-%d", *value, e.quantum)
		}
	}
	if e.nonzero && v.Sign() == 0 {
		return errors.New("0, declared nonzero")
	}
	return nil
}

func (s *server) checkMeasured(t *testing.T, e *Expr) {
	t.Helper()
	for _, foreign := range []bool{false, true} {
		m, err := Measured(e, GridRule{Foreign: foreign})
		if err != nil {
			if base := e.baseType(); (pgresolve.IsNumber(base) || pgresolve.IsTime(base)) && e.bounds.Finite() {
				t.Fatal(err)
			}
			return
		}
		guard := "true"
		if m.Guard != nil {
			guard = query.Text(m.Guard)
		}
		got,
			err := s.text(
			fmt.Sprintf("SELECT %s, CASE WHEN %s THEN %s END, pg_typeof(%s)::oid::text, (%s) IS NULL FROM hostile AS r",
				query.Text(m.SQL), guard, query.Text(m.Unguarded), query.Text(m.SQL), sqlOf(e)))
		if err != nil {
			t.Fatalf("measured raises: %s\nSQL: %s", full(err), m.SQL)
		}
		for _, row := range got {
			isNull := *row[3] == "t"
			if isNull != (row[0] == nil) || isNull != (row[1] == nil) || *row[2] != fmt.Sprint(m.Type) {
				t.Fatalf("measured %v and %v of type %s where the argument is NULL: %v\nSQL: %s", show(row[0]), show(row[1]),
					*row[2], isNull, m.SQL)
			}
			for _, cell := range row[:2] {
				if cell == nil {
					continue
				}
				z, ok := new(big.Rat).SetString(*cell)
				if !ok || !bounds.Between(m.Lo, m.Hi).Contains(z) {
					t.Fatalf("measured %s, declared in [%d, %d]\nSQL: %s", *cell, m.Lo, m.Hi, m.SQL)
				}
			}
		}
		s.checkConverted(t, m)
	}
}

// checkConverted holds the form over converted columns to the declared range, and to not raising.
func (s *server) checkConverted(t *testing.T, m *Measure) {
	t.Helper()
	over, from := overConversions(m, "hostile")
	got, err := s.text(fmt.Sprintf("SELECT %s, pg_typeof(%s)::oid::text FROM %s", over, over, from))
	if err != nil {
		t.Fatalf("measured from conversions raises: %s\nSQL: %s FROM %s", full(err), over, from)
	}
	for _, row := range got {
		if z, ok := new(big.Rat).SetString(show(row[0])); row[0] != nil && (!ok || !bounds.Between(m.Lo, m.Hi).Contains(z)) ||
			*row[1] != fmt.Sprint(m.Type) {
			t.Fatalf("measured %s of type %s from conversions, declared in [%d, %d]\nSQL: %s FROM %s", show(row[0]), *row[1],
				m.Lo, m.Hi, over, from)
		}
	}
}

// overConversions prints the measured integer over a subquery of a table's rows in which columns are converted.
func overConversions(m *Measure, table string) (sql, from string) {
	var outputs []string
	over := m.Over(func(sql query.Scalar, _ bool) query.Scalar {
		outputs = append(outputs, fmt.Sprintf("%s AS x%d", query.Text(sql), len(outputs)))
		return query.Name(fmt.Sprintf("x%d", len(outputs)-1))
	})
	return query.Text(over), fmt.Sprintf("(SELECT %s FROM %s AS r OFFSET '0') AS r",
		strings.Join(append(outputs, "r.*"), ", "), table)
}

func show(s *string) string {
	if s == nil {
		return "NULL"
	}
	return *s
}

// TestAgreesWithPostgreSQL compares types and values with PostgreSQL's own reading of the text, over rows within the
// bounds. A corpus line that starts with ! may differ in value, or raise there: what it deviates in is documented (x/0
// is NULL).
func TestAgreesWithPostgreSQL(t *testing.T) {
	s := startServer(t)
	s.exec(t, "SET TimeZone = 'Europe/Berlin'")
	for _, line := range corpus(t, "testdata/accepted.txt") {
		t.Run(line, func(t *testing.T) {
			text, deviates := strings.CutPrefix(line, "! ")
			e, err := Build(parseExpr(t, text), s.scope)
			if err != nil {
				t.Fatal(err)
			}
			d, err := s.conn.PgConn().Prepare(context.Background(), "", "SELECT "+text+" FROM benign AS r", nil)
			if err != nil {
				t.Fatal(err)
			}
			if d.Fields[0].DataTypeOID != e.Type() {
				t.Fatalf("type %d, PostgreSQL says %d", e.Type(), d.Fields[0].DataTypeOID)
			}
			if e.Typmod() != d.Fields[0].TypeModifier && e.Typmod() != -1 {
				t.Fatalf("typmod %d, PostgreSQL says %d", e.Typmod(), d.Fields[0].TypeModifier)
			}
			sql := sqlOf(e)
			if deviates {
				return
			}
			got, err := s.text(fmt.Sprintf("SELECT (%s)::text, (%s)::text, (%s)::text FROM benign AS r", text, sql,
				sqlOf(e.Read())))
			if err != nil {
				t.Fatalf("%s\nSQL: %s", full(err), sql)
			}
			for _, row := range got {
				if show(row[0]) != show(row[1]) || show(row[1]) != show(row[2]) {
					t.Fatalf("%s and %s, PostgreSQL says %s\nSQL: %s", show(row[1]), show(row[2]), show(row[0]), sql)
				}
			}
			s.checkGrid(t, e)
		})
	}
}

// checkGrid: the measured integer is the value to the nearest step.
func (s *server) checkGrid(t *testing.T, e *Expr) {
	t.Helper()
	m, err := Measured(e, GridRule{})
	if err != nil || e.baseType() == pgtype.BoolOID {
		return
	}
	got, err := s.text("SELECT " + query.Text(m.SQL) + ", " + canonicalSQL(e, sqlOf(e)) + " FROM benign AS r")
	if err != nil {
		t.Fatal(full(err))
	}
	over, from := overConversions(m, "benign")
	guard := "true"
	if m.Guard != nil {
		guard = query.Text(m.Guard)
	}
	differ, err := s.text(fmt.Sprintf("SELECT %s, %s FROM %s WHERE %s AND %s <> %s", over, query.Text(m.Unguarded), from,
		guard, over, query.Text(m.Unguarded)))
	if err != nil {
		t.Fatalf("%s\nSQL: %s FROM %s", full(err), over, from)
	}
	if len(differ) > 0 {
		t.Fatalf("measured %s and, from conversions, %s\nSQL: %s FROM %s", show(differ[0][1]), show(differ[0][0]), over, from)
	}
	half := add(mul(m.Step, frac(1, 2)), mul(m.Step, bounds.Pow10(-3)))
	for _, row := range got {
		if row[0] == nil {
			continue
		}
		z, _ := new(big.Rat).SetString(*row[0])
		v, ok := rational(e, *row[1])
		if !ok {
			t.Fatalf("no number: %s", *row[1])
		}
		if off := sub(mul(z, m.Step), v); off.Abs(off).Cmp(half) > 0 {
			t.Fatalf("%s steps of %s are %s away from %s\nSQL: %s", *row[0], bounds.Decimal(m.Step), off.FloatString(6), *row[1],
				m.SQL)
		}
	}
}
