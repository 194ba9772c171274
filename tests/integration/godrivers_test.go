package integration_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/lib/pq"
)

func sqlState(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	var p *pq.Error
	if errors.As(err, &p) {
		return string(p.Code)
	}
	return ""
}

// TestPgx runs one session in each way in which pgx can send a query.
func TestPgx(t *testing.T) {
	p := start(t, everyKey(clinicPolicy()), clinic)
	for name, mode := range map[string]pgx.QueryExecMode{
		"cache statement": pgx.QueryExecModeCacheStatement, "cache describe": pgx.QueryExecModeCacheDescribe,
		"describe": pgx.QueryExecModeDescribeExec, "exec": pgx.QueryExecModeExec, "simple": pgx.QueryExecModeSimpleProtocol,
	} {
		t.Run(name, func(t *testing.T) {
			conn := p.connect(func(c *pgx.ConnConfig) { c.DefaultQueryExecMode = mode })
			pgxSession(t, conn)
		})
	}
}

func pgxSession(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	ctx := context.Background()
	for _, age := range []int{20, 40, 40} {
		var n int64
		err := conn.QueryRow(ctx, "SELECT count(*) FROM patients WHERE age > $1 AND diagnosis = $2", age, "flu").Scan(&n)
		if err != nil || n < 0 || n > 100000 {
			t.Errorf("count: %d, %v", n, err)
		}
	}
	rows,
		err := conn.Query(ctx, "SELECT diagnosis, count(*), avg(income), avg(weight) FROM patients GROUP BY 1 ORDER BY 1")
	if err != nil {
		t.Fatal(err)
	}
	keys, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
		var key string
		var n int64
		var income pgtype.Numeric
		var weight *float64
		err := row.Scan(&key, &n, &income, &weight)
		if weight != nil && (*weight < 0 || *weight > 250) {
			t.Errorf("%s: average weight %v is outside the column's bounds", key, *weight)
		}
		return key, err
	})
	if err != nil || strings.Join(keys, " ") != "asthma cold flu gout" {
		t.Errorf("groups: %q, %v", keys, err)
	}
	var beds int32
	var day time.Time
	if err := conn.QueryRow(ctx, "SELECT beds, $1::date + 1 FROM wards WHERE ward = $2",
		time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC), "A").Scan(&beds, &day); err != nil || beds != 30 ||
		day.Month() != time.February {
		t.Errorf("public: %d, %v, %v", beds, day, err)
	}
	for statement, code := range map[string]string{
		"SELECT name FROM patients": "42501", "SELECT * FROM patients": "42501", "SELECT nope FROM patients": "42703",
		"SELECT * FROM secrets":          "42P01",
		"INSERT INTO wards VALUES ('x')": "42501", "SELEC 1": "42601", "DO 'BEGIN END'": "0A000",
	} {
		if _, err := conn.Exec(ctx, statement); sqlState(err) != code {
			t.Errorf("%s: %v, want %s", statement, err, code)
		}
	}
	tx, err := conn.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(ctx, "SELECT 1/0"); sqlState(err) != "22012" {
		t.Errorf("division: %v", err)
	}
	if _, err := tx.Exec(ctx, "SELECT 1"); sqlState(err) != "25P02" {
		t.Errorf("failed transaction: %v", err)
	}
	if err := tx.Rollback(ctx); err != nil {
		t.Error(err)
	}
	batch := &pgx.Batch{}
	for age := range 5 {
		batch.Queue("SELECT count(*) FROM patients WHERE age > $1", 10*age)
	}
	results := conn.SendBatch(ctx, batch)
	for range 5 {
		var n int64
		if err := results.QueryRow().Scan(&n); err != nil || n < 0 {
			t.Errorf("batch: %d, %v", n, err)
		}
	}
	if err := results.Close(); err != nil {
		t.Error(err)
	}
	if err := conn.Ping(ctx); err != nil {
		t.Error(err)
	}
}

// TestLibPq runs a session through database/sql, with server-side prepares and with binary parameters.
func TestLibPq(t *testing.T) {
	p := start(t, clinicPolicy(), clinic)
	for _, more := range []string{"", "&binary_parameters=yes"} {
		db, err := sql.Open("postgres", p.dsn("alice")+more)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		statement, err := db.Prepare("SELECT count(*) FROM patients WHERE age > $1 AND diagnosis = $2")
		if err != nil {
			t.Fatal(err)
		}
		for _, age := range []int{20, 40} {
			var n int64
			if err := statement.QueryRow(age, "flu").Scan(&n); err != nil || n < 0 {
				t.Errorf("count: %d, %v", n, err)
			}
		}
		var beds []sql.NullInt64
		rows, err := db.Query("SELECT beds FROM wards WHERE ward = ANY($1) ORDER BY ward", pq.Array([]string{"A", "C"}))
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var b sql.NullInt64
			if err := rows.Scan(&b); err != nil {
				t.Error(err)
			}
			beds = append(beds, b)
		}
		if rows.Err() != nil || len(beds) != 2 || beds[0].Int64 != 30 {
			t.Errorf("beds: %v, %v", beds, rows.Err())
		}
		if _, err := db.Exec("SELECT name FROM patients"); sqlState(err) != "42501" {
			t.Errorf("rows: %v", err)
		}
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec("SELECT nope FROM wards"); sqlState(err) != "42703" {
			t.Errorf("name: %v", err)
		}
		if err := tx.Rollback(); err != nil {
			t.Error(err)
		}
		if err := db.Ping(); err != nil {
			t.Error(err)
		}
	}
}

// TestCancel stops a statement that runs on the shadow, and nothing else.
func TestCancel(t *testing.T) {
	p := start(t, clinicPolicy(), clinic)
	conn := p.connect()
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	_, err := conn.Exec(ctx, "SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b")
	if err == nil {
		t.Error("the statement was not stopped")
	}
	again := p.connect()
	var one int
	if err := again.QueryRow(context.Background(), "SELECT 1").Scan(&one); err != nil || one != 1 {
		t.Errorf("afterwards: %d, %v", one, err)
	}
}
