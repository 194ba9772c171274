package integration_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
)

// town is a database whose columns have the types that are written in more than one way: floats, times, intervals,
// bytes. No value is as frequent as its neighbours, so a constant that is read as another one shows. Nobody's values
// are near the bounds of townPolicy, and nobody has more rows than it allows, so true answers are PostgreSQL's.
const town = `
CREATE TABLE people (id bigint PRIMARY KEY, name text NOT NULL, age int NOT NULL, weight float8 NOT NULL, height float4 NOT NULL, price numeric(10,2) NOT NULL,
  seen timestamptz NOT NULL, met timestamp NOT NULL, day date NOT NULL, hour time NOT NULL, stay interval NOT NULL, tag bytea NOT NULL);
INSERT INTO people SELECT i, 'person ' || i, j, 40 + j, 1 + j % 7, j + 0.25, timestamptz '2024-06-10 00:00+00' + j * interval '1 hour',
  timestamp '2024-06-10 00:00' + j * interval '1 hour', date '2024-06-10' + j, time '00:00' + (j % 20) * interval '1 hour', (j - 50) * interval '1 hour',
  decode(lpad(to_hex(j), 4, '5c'), 'hex')
FROM generate_series(1, 1000) i, LATERAL (SELECT floor(sqrt(10 * (i - 1)))::int AS j) x;
CREATE TABLE events (event_id bigint PRIMARY KEY, person_id bigint NOT NULL REFERENCES people, at timestamptz NOT NULL, amount int NOT NULL);
INSERT INTO events SELECT i, p.id, p.seen, p.age % 50 FROM generate_series(1, 3000) i JOIN people p ON p.id = 1 + i % 1000;
CREATE TABLE slots (at timestamptz PRIMARY KEY, label text NOT NULL);
INSERT INTO slots SELECT timestamptz '2024-06-10 00:00+00' + i * interval '1 hour', 'slot ' || i % 5 FROM generate_series(0, 99) i;
CREATE TABLE scales (weight float8 PRIMARY KEY, label text NOT NULL);
INSERT INTO scales SELECT 40 + i, 'scale ' || i % 5 FROM generate_series(0, 99) i;
`

// ada is the person who is there or not.
const ada = `
INSERT INTO people VALUES (5000, 'ada', 60, 60, 1, 60.25, '2024-06-12 12:00+00', '2024-06-12 12:00', '2024-07-10', '06:00', '30:00', '\x5c30');
INSERT INTO events SELECT 5000 + i, 5000, '2024-06-12 12:00+00', 10 FROM generate_series(1, 5) i;
`

const adaLeaves = "DELETE FROM events WHERE person_id = 5000; DELETE FROM people WHERE id = 5000;"

// townPolicy lets a statement cost so much that its noise rounds to nothing.
const townPolicy = `version: 1
listen: 127.0.0.1:0
@DATABASES@
ledger: file:test.ledger
accounting: {method: pure}
defaults: {epsilon: 1000, epsilon_max: 1000}
answers: {ttl: 0}
analysts:
  alice: {password: "@VERIFIER@", budget: {epsilon: 100000000}}
tables:
  people:
    privacy_unit: {name: person, column: id}
    max_rows_per_unit: 1
    max_rows: 100000
    columns:
      id:     {}
      name:   {}
      age:    {bounds: [0, 120]}
      weight: {bounds: [0, 250]}
      height: {bounds: [0, 3]}
      price:  {bounds: [0, 1000]}
      seen:   {bounds: [2024-01-01, 2024-12-31]}
      met:    {bounds: [2024-01-01, 2024-12-31]}
      day:    {bounds: [2024-01-01, 2024-12-31]}
      hour:   {bounds: ["00:00", "23:59"]}
      stay:   {bounds: ["-100 hours", "100 hours"]}
      tag:    {}
  events:
    privacy_unit: {name: person, column: person_id}
    max_rows_per_unit: 5
    columns:
      event_id:  {}
      person_id: {}
      at:        {bounds: [2024-01-01, 2024-12-31]}
      amount:    {bounds: [0, 100]}
  slots:  {public: true}
  scales: {public: true}
`

// question is one statement of an analyst, under settings of the analyst's session.
type question struct {
	name    string
	set     string // SET commands
	sql     string
	values  []value // of $1, $2 …
	inexact bool    // the answer need not be PostgreSQL's: groups of which a unit has more than may count, bounds
}

// value is a parameter: PostgreSQL's text for it, and its type.
type value struct {
	oid  uint32
	text string
}

// answer is what the analyst sees: an error, or the last column.
type answer struct {
	code, message string
	column        []float64
}

func (a answer) String() string {
	if a.code != "" {
		return a.code + " " + a.message
	}
	if len(a.column) > 12 {
		return fmt.Sprintf("%d rows, %g together", len(a.column), total(a.column))
	}
	return fmt.Sprint(a.column)
}

func total(column []float64) float64 {
	sum := 0.0
	for _, v := range column {
		sum += v
	}
	return sum
}

// run asks on a connection of its own. Values go in the format given: 0 is text, 1 is binary.
func (q question) run(t *testing.T, dsn, prefix string, format int16) (rows [][][]byte, err error) {
	t.Helper()
	ctx := context.Background()
	conn, err := pgconn.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, q.set).ReadAll(); err != nil {
		t.Fatalf("%s: %s: %v", q.name, q.set, err)
	}
	if len(q.values) == 0 {
		results, err := conn.Exec(ctx, prefix+q.sql).ReadAll()
		if err != nil {
			return nil, err
		}
		return results[len(results)-1].Rows, nil
	}
	var values [][]byte
	var types []uint32
	for _, v := range q.values {
		values, types = append(values, v.encode(t, format)), append(types, v.oid)
	}
	result := conn.ExecParams(ctx, prefix+q.sql, values, types, []int16{format}, nil).Read()
	return result.Rows, result.Err
}

// putQuestion asks and keeps of the answer what is compared.
func putQuestion(t *testing.T, dsn string, q question, format int16) (a answer) {
	t.Helper()
	rows, err := q.run(t, dsn, "", format)
	var refused *pgconn.PgError
	switch {
	case errors.As(err, &refused):
		return answer{code: refused.Code, message: refused.Message + refused.Detail + refused.Hint}
	case err != nil:
		t.Fatalf("%s: %s: %v", q.name, q.sql, err)
	}
	for _, row := range rows {
		n := 0.0
		if last := row[len(row)-1]; last != nil {
			if n, err = strconv.ParseFloat(string(last), 64); err != nil {
				t.Fatalf("%s: %v", q.name, err)
			}
		}
		a.column = append(a.column, n)
	}
	return a
}

func (v value) encode(t *testing.T, format int16) []byte {
	t.Helper()
	if format == pgtype.TextFormatCode {
		return []byte(v.text)
	}
	switch greatest := strings.TrimLeft(v.text, "-") == "infinity"; { // pgtype has no binary form of these
	case greatest && v.oid == pgtype.DateOID:
		return binary.BigEndian.AppendUint32(nil, uint32(math.MaxInt32+len(v.text)-len("infinity")))
	case greatest && (v.oid == pgtype.TimestampOID || v.oid == pgtype.TimestamptzOID):
		return binary.BigEndian.AppendUint64(nil, uint64(math.MaxInt64)+uint64(len(v.text)-len("infinity")))
	}
	types := pgtype.NewMap()
	codec, ok := types.TypeForOID(v.oid)
	if !ok {
		t.Fatalf("type %d is unknown", v.oid)
	}
	decoded, err := codec.Codec.DecodeValue(types, v.oid, pgtype.TextFormatCode, []byte(v.text))
	if err != nil {
		t.Fatalf("%s: %v", v.text, err)
	}
	b, err := types.Encode(v.oid, pgtype.BinaryFormatCode, decoded, nil)
	if err != nil {
		t.Fatalf("%s: %v", v.text, err)
	}
	return b
}

// promised is what EXPLAIN says that one unit can move in all groups of all releases together.
func promised(t *testing.T, dsn string, q question, format int16) float64 {
	t.Helper()
	rows, err := q.run(t, dsn, "EXPLAIN (FORMAT JSON) ", format)
	if err != nil {
		t.Fatalf("EXPLAIN %s: %v", q.sql, err)
	}
	var plans []struct {
		Releases []struct {
			Total float64 `json:"total"`
		} `json:"releases"`
	}
	if err := json.Unmarshal(rows[0][0], &plans); err != nil {
		t.Fatalf("EXPLAIN %s: %v", q.sql, err)
	}
	sum := 0.0
	for _, plan := range plans {
		for _, r := range plan.Releases {
			sum += r.Total
		}
	}
	return sum
}

// refusals that follow from statement, policy and schema alone; the others depend on what main did, or on earlier
// statements.
func public(code string) bool {
	switch code {
	case "0A000", "42501", "22023", "42804", "42883", "54001", "22003", "22007", "22008", "22P02", "22P03":
		return true
	}
	return false
}

// slack is what noise adds to n answers with a sensitivity: at ε = loud its scale is at most sensitivity/loud, or 1/64,
// and it exceeds 40 times its scale once in e^40 draws. Answers are whole numbers. (A sum over some hundred groups of
// sums has noise in few of them: that it exceeds this, which takes five unit steps, is less likely than 1e-7.)
func slack(n int, sensitivity float64) float64 {
	return float64(n) * math.Floor(40*max(sensitivity/loud, 1.0/64))
}

// round is a question with ada there.
type round struct {
	question
	format      int16
	with        answer
	sensitivity float64
}

// betray asks every question with ada there and with ada gone, with values in both formats. Whatever the answers are,
// they differ by no more than is charged for, and a refusal does not depend on her; without her, they are PostgreSQL's.
func betray(t *testing.T, p *proxy, arrive, leave string, questions []question) {
	t.Helper()
	admin := p.server.DSN(p.db, pgserver.Superuser)
	analyst := p.dsn("alice")
	var rounds []round
	pgservertest.Exec(t, admin, arrive)
	for _, q := range questions {
		for _, format := range []int16{pgtype.TextFormatCode, pgtype.BinaryFormatCode} {
			if format == pgtype.BinaryFormatCode && len(q.values) == 0 {
				continue
			}
			r := round{question: q, format: format, with: putQuestion(t, analyst, q, format)}
			if r.with.code == "" {
				r.sensitivity = promised(t, analyst, q, format)
			}
			rounds = append(rounds, r)
		}
	}
	pgservertest.Exec(t, admin, leave)
	for _, r := range rounds {
		without := putQuestion(t, analyst, r.question, r.format)
		var faults []string
		complain := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
		switch {
		case r.with.code != without.code || r.with.message != without.message:
			complain("whether it is refused tells of ada")
		case r.with.code != "" && !public(r.with.code):
			complain("no refusal that analysis makes")
		case len(r.with.column) != len(without.column):
			complain("the number of rows tells of ada")
		case r.with.code == "":
			r.judge(t, admin, r.with, without, complain)
		}
		if faults != nil {
			t.Errorf("%s: %s (format %d): %s; with ada %v, without %v\n%s", r.name, strings.ReplaceAll(r.set, "SET ", ""),
				r.format, strings.Join(faults, "; "), r.with, without, r.sql)
		}
	}
}

// judge compares the columns of two answers with each other, and the one without ada with PostgreSQL's.
func (r *round) judge(t *testing.T, admin string, with, without answer, complain func(string, ...any)) {
	t.Helper()
	moved := 0.0
	for i := range without.column {
		moved += math.Abs(with.column[i] - without.column[i])
	}
	room := slack(len(without.column), r.sensitivity)
	if moved > r.sensitivity+2*room {
		complain("ada moves the answer by %g, %g is charged for", moved, r.sensitivity)
	}
	if r.inexact {
		return
	}
	if truth := putQuestion(t, admin, r.question, pgtype.TextFormatCode); truth.code != "" ||
		math.Abs(total(truth.column)-total(without.column)) > room {
		complain("PostgreSQL says %v", truth)
	}
}
