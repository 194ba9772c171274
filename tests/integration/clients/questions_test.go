package clients

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

const questionsSchema = `
CREATE TABLE wards (ward text PRIMARY KEY, floor int NOT NULL);
CREATE TABLE patients (id bigint PRIMARY KEY, age int, income numeric(10,2), diagnosis text NOT NULL, ward text NOT NULL REFERENCES wards, admitted date NOT NULL, name text);
CREATE TABLE visits (visit_id bigint PRIMARY KEY, patient_id bigint NOT NULL REFERENCES patients (id), ward text NOT NULL REFERENCES wards, cost numeric(8,2), minutes int,
	at timestamp NOT NULL);
INSERT INTO wards VALUES ('north', 1), ('south', 2), ('east', 3);
INSERT INTO patients SELECT i, 18 + i * 7 % 73, 100 + i * 13 % 800, (ARRAY['flu', 'cold', 'asthma'])[1 + i % 3], (ARRAY['north', 'south', 'east'])[1 + i % 7 % 3],
	date '2023-01-01' + i * 11 % 700, 'canary' || i FROM generate_series(1, 1500) i;
INSERT INTO visits SELECT i, 1 + i % 1500, (ARRAY['north', 'south', 'east'])[1 + i % 11 % 3], 1 + i * 17 % 990, 1 + i * 5 % 95,
	timestamp '2023-01-01' + i * 7919 % 540 * interval '1 day' + i % 24 * interval '1 hour' FROM generate_series(1, 4500) i;
ANALYZE;
`

// At this epsilon the noise is nil.
const questionsPolicy = `version: 1
listen: 127.0.0.1:0
databases: {main: %q, shadow: %q, public: %q, admin: %q}
ledger: file:test.ledger
accounting: {method: pure}
defaults: {epsilon: 100000000, epsilon_max: 100000000}
failures: {per_period: 1000}
analysts:
  alice: {password: %q, budget: {epsilon: 100000000000000}}
tables:
  patients:
    privacy_unit: {name: patient, column: id}
    max_rows_per_unit: 1
    columns: {id: {}, age: {bounds: [0, 120]}, income: {bounds: [0, 1000]}, diagnosis: {values: [asthma, cold, flu]}, ward: {values_from: wards.ward},
      admitted: {bounds: [2023-01-01, 2024-12-31]}, name: {}}
  visits:
    privacy_unit: {name: patient, column: patient_id}
    max_rows_per_unit: 5
    columns: {visit_id: {}, patient_id: {}, ward: {values_from: wards.ward}, cost: {bounds: [0, 1000]}, minutes: {bounds: [0, 100]}, at: {bounds: [2023-01-01, "2024-06-30 23:59:59"]}}
  wards: {public: true}
`

// A question is a statement that a tool writes, with what becomes of it.
type question struct {
	statement
	file string
	line int
	// expect is "answered": PostgreSQL's answer comes back. "refused": code and words of the message are given, and
	// instead is answered. "missing": it is refused, and will be answered once what is named is there.
	expect, words, instead string
}

var (
	expectation = regexp.MustCompile(`^-- (answered|refused|missing)(?: (.*))?$`)
	insteadLine = regexp.MustCompile(`^-- instead: (.*)$`)
)

// TestQuestions asks what tools ask when their users look at charts: recorded statements and modelled ones, beside the
// catalog queries of TestClients.
func TestQuestions(t *testing.T) {
	server, db, dsn := startWith(t, questionsSchema, questionsPolicy)
	files, err := filepath.Glob("*/questions.txt")
	if err != nil || len(files) < 14 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	plain, proxied := connect(t, server.DSN(db, "clients_plain")), connect(t, dsn)
	for _, c := range []*connection{plain, proxied} {
		if err := c.conn.Exec(context.Background(), "SET timezone = 'UTC'; SET client_min_messages = warning").Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range files {
		t.Run(filepath.Dir(file), func(t *testing.T) {
			for _, q := range questions(t, file) {
				q.check(t, plain, proxied)
			}
		})
	}
}

func questions(t *testing.T, file string) []question {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list []question
	for i, st := range statements(t, file) {
		q := question{statement: st, file: file}
		part := strings.Split(string(raw)+"\n", "\n;\n")[i]
		q.line = 1 + strings.Count(strings.Join(strings.Split(string(raw)+"\n", "\n;\n")[:i], "\n;\n"), "\n")
		for _, line := range strings.Split(part, "\n") {
			if m := expectation.FindStringSubmatch(line); m != nil {
				q.expect, q.words = m[1], m[2]
			}
			if m := insteadLine.FindStringSubmatch(line); m != nil {
				q.instead = m[1]
			}
		}
		if q.expect == "" || q.expect != "answered" && q.words == "" || (q.expect == "refused") != (q.instead != "") {
			t.Fatalf("%s:%d: what is expected is not said in full", file, q.line)
		}
		list = append(list, q)
	}
	return list
}

func (q question) check(t *testing.T, plain, proxied *connection) {
	t.Helper()
	want, got := plain.table(q.statement), proxied.table(q.statement)
	if want.err != nil {
		t.Errorf("%s:%d: fails on PostgreSQL: %v", q.file, q.line, want.err)
		return
	}
	var e *pgconn.PgError
	switch {
	case q.expect == "answered" && got.err != nil:
		if errors.As(got.err, &e) {
			t.Errorf("%s:%d: refused: %s %s\nhint: %s\n%s", q.file, q.line, e.Code, e.Message, e.Hint, q.sql)
			return
		}
		t.Errorf("%s:%d: %v", q.file, q.line, got.err)
	case q.expect == "answered":
		if d := want.differs(got, ordered(q.sql)); d != "" {
			t.Errorf("%s:%d: %s\n%s", q.file, q.line, d, q.sql)
		}
	case got.err == nil && q.expect == "missing" && want.differs(got, false) != "":
		return // answered, but not as PostgreSQL does
	case got.err == nil:
		t.Errorf("%s:%d: is answered: say so in the file\n%s", q.file, q.line, q.sql)
	case !errors.As(got.err, &e):
		t.Errorf("%s:%d: %v, want an error of SQL", q.file, q.line, got.err)
	case q.expect == "refused":
		code, words, _ := strings.Cut(q.words, ": ")
		if e.Code != code || !strings.Contains(e.Message, words) || e.Hint == "" {
			t.Errorf("%s:%d: %s %s, hint %q; want %s", q.file, q.line, e.Code, e.Message, e.Hint, q.words)
		}
		if other := proxied.table(statement{sql: q.instead}); other.err != nil || len(other.rows) == 0 {
			t.Errorf("%s:%d: instead: %d rows, %v", q.file, q.line, len(other.rows), other.err)
		}
	}
}

// table is an answer with its rows.
type table struct {
	columns []string
	rows    [][]string
	err     error
}

// table runs one statement by the extended protocol, all in text form, by name where the client gives it one.
func (c *connection) table(st statement) (a table) {
	values := make([][]byte, len(st.parameters))
	for i, p := range st.parameters {
		if p != nil {
			values[i] = []byte(*p)
		}
	}
	ctx := context.Background()
	if st.prepared {
		if _, a.err = c.conn.Prepare(ctx, "named", st.sql, st.types); a.err != nil {
			return a
		}
		defer func() {
			if err := c.conn.Deallocate(ctx, "named"); err != nil && a.err == nil {
				a.err = err
			}
		}()
		a.read(c.conn.ExecPrepared(ctx, "named", values, nil, nil))
		return a
	}
	a.read(c.conn.ExecParams(ctx, st.sql, values, st.types, nil, nil))
	return a
}

func (a *table) read(r *pgconn.ResultReader) {
	for r.NextRow() {
		row := make([]string, len(r.Values()))
		for i, v := range r.Values() {
			row[i] = "NULL"
			if v != nil {
				row[i] = string(v)
			}
		}
		a.rows = append(a.rows, row)
	}
	for _, f := range r.FieldDescriptions() {
		a.columns = append(a.columns, fmt.Sprintf("%s %d", f.Name, f.DataTypeOID))
	}
	_, a.err = r.Close()
}

// differs compares names, types and rows. Where rows are ordered, one column at least comes in the same order: the one
// that they are ordered by, which may have ties. Numbers may differ by a grid's step.
func (a table) differs(b table, ordered bool) string {
	if !slices.Equal(a.columns, b.columns) {
		return fmt.Sprintf("columns %v, want %v", b.columns, a.columns)
	}
	if ordered && len(a.rows) == len(b.rows) && !sameOrder(a, b) {
		return fmt.Sprintf("the order of\n%v\nwant\n%v", b.rows, a.rows)
	}
	for _, rows := range [][][]string{a.rows, b.rows} {
		slices.SortFunc(rows, slices.Compare[[]string])
	}
	same := func(x, y []string) bool { return slices.EqualFunc(x, y, alike) }
	if !slices.EqualFunc(a.rows, b.rows, same) {
		return fmt.Sprintf("%d rows, want %d:\n%v\nwant\n%v", len(b.rows), len(a.rows), b.rows, a.rows)
	}
	return ""
}

func sameOrder(a, b table) bool {
	for column := range a.columns {
		same := true
		for i := range a.rows {
			same = same && alike(a.rows[i][column], b.rows[i][column])
		}
		if same {
			return true
		}
	}
	return false
}

func alike(x, y string) bool {
	if x == y {
		return true
	}
	a, err := strconv.ParseFloat(x, 64)
	if err != nil {
		return false
	}
	b, err := strconv.ParseFloat(y, 64)
	return err == nil && math.Abs(a-b) <= 1e-4*math.Max(1, math.Abs(a))
}

// ordered reports whether a statement has an ORDER BY of its own, and not in a subquery alone.
func ordered(sql string) bool {
	return strings.LastIndex(strings.ToUpper(sql), "ORDER BY") > strings.LastIndex(sql, "GROUP BY")
}
