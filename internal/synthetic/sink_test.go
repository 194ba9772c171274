package synthetic

import (
	"bytes"
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
)

// harshSchema has checks that raise errors on rows that are drawn, and a foreign key whose columns are NULL together.
const harshSchema = `
CREATE DOMAIN divisor AS int CHECK (60 / VALUE > 0);
CREATE TABLE place (a int, b int, PRIMARY KEY (a, b));
CREATE TABLE person (id int PRIMARY KEY, found int NOT NULL CHECK (1 / found >= 0), half divisor NOT NULL, a int, b int,
  FOREIGN KEY (a, b) REFERENCES place MATCH FULL);
INSERT INTO place SELECT a, b FROM generate_series(1, 3) a, generate_series(1, 3) b;
INSERT INTO person SELECT i, 1 + i % 9, 1 + i % 5, CASE WHEN i % 4 > 0 THEN i % 4 END, CASE WHEN i % 4 > 0 THEN 1 + i % 3 END
  FROM generate_series(1, 4000) i;
`

const harshPolicy = `version: 1
listen: 127.0.0.1:0
databases: {main: "${DPPROXY_MAIN_DSN}", shadow: "${DPPROXY_SHADOW_DSN}", public: "${DPPROXY_PUBLIC_DSN}", admin: "${DPPROXY_ADMIN_DSN}"}
ledger: file:test.ledger
accounting: {method: rdp, delta: 1e-6}
defaults: {epsilon: 0.5, epsilon_max: 5}
analysts:
  alice: {password: "SCRAM-SHA-256$4096:c2FsdHNhbHRzYWx0c2FsdA==$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", budget: {epsilon: 10, delta: 1e-6}}
tables:
  place: {public: true}
  person:
    privacy_unit: {name: person, column: id}
    max_rows_per_unit: 1
    columns: {id: {}, found: {bounds: [0, 9]}, half: {bounds: [0, 9]}, a: {bounds: [1, 3]}, b: {bounds: [1, 3]}}
`

// TestRowsThatChecksRaiseErrorsOnAreLeftOut: and a twin is made all the same; so it is where columns of a foreign key
// that matches fully are drawn NULL apart.
func TestRowsThatChecksRaiseErrorsOnAreLeftOut(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, harshPolicy, func(dsn string) error {
		conn, err := pgx.Connect(ctx, dsn)
		if err != nil {
			return err
		}
		defer conn.Close(ctx)
		_, err = conn.PgConn().Exec(ctx, harshSchema).ReadAll()
		return err
	})
	r, err := Run(ctx, w.policy, w.ledger, Options{Budget: budget}, w.sink, quiet)
	if err != nil {
		t.Fatal(err)
	}
	name := r.Tables[0].Name
	rows := Rows{Table: name, Columns: []string{"id", "found", "half", "a", "b"}, All: func(yield func([][]byte, error) bool) {
		for _, row := range []string{ // of which the first, the fifth and the seventh break nothing
			"1 1 1 1 1", "2 0 1 1 1", "3 1 0 1 1", "4 1 1 1", "5 1 1", "6 1 1 9 9", "7 -2 1 1 1", "8 1 61 1 1",
		} {
			texts := make([][]byte, 5)
			copy(texts, bytes.Fields([]byte(row)))
			yield(texts, nil)
		}
	}}
	written, err := w.sink.Replace(ctx, []Rows{rows})
	if err != nil || written[name] != (Written{3, 5}) {
		t.Fatalf("%+v, %v", written, err)
	}
}
