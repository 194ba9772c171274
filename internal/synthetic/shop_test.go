package synthetic

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/policy"
)

// canary is a text that each private text column has.
const canary = "canary-7f3a"

// rare is a number that one row has.
const rare = "77777.7777"

// shopSchema has what a twin must keep: keys of each kind, a key of two columns, a table that refers to itself, one
// whose units no table lists, texts with and without NULL, types of which nothing is known, and checks that drawn
// rows break.
const shopSchema = `
CREATE DOMAIN remark AS text CHECK (length(VALUE) < 14);
CREATE TYPE state AS ENUM ('open', 'paid', 'lost');
CREATE TABLE person (id int PRIMARY KEY, mail text NOT NULL UNIQUE, first_name varchar(10) NOT NULL, note text, boss int REFERENCES person,
  token uuid NOT NULL, about jsonb NOT NULL, picture bytea, tags text[] NOT NULL, height float8, born date NOT NULL, vip boolean NOT NULL,
  CHECK (born >= '1900-01-01'), CHECK (height BETWEEN 0 AND 3));
CREATE TABLE orders (id uuid PRIMARY KEY, person_id int NOT NULL REFERENCES person, state state NOT NULL, amount numeric(10,4) NOT NULL CHECK (amount >= 0),
  at timestamptz NOT NULL, remark remark);
CREATE TABLE item (order_id uuid NOT NULL REFERENCES orders, line int NOT NULL, pieces int NOT NULL, label text NOT NULL, PRIMARY KEY (order_id, line),
  CHECK (pieces < 5 OR line > 1));
CREATE TABLE login (person_name text NOT NULL, minute int NOT NULL, agent text NOT NULL);
`

const shopRows = `
SELECT setseed(0.4);
INSERT INTO person SELECT i, 'canary-7f3a' || i || '@x.org', 'canary-7f', CASE WHEN i % 3 = 0 THEN 'canary-7f3a ' || i END, CASE WHEN i > 1 AND i % 2 = 0 THEN i / 2 END,
  gen_random_uuid(), '{"a": "canary-7f3a"}', 'canary-7f3a', '{canary-7f3a}', CASE WHEN i % 10 > 0 THEN 1.5 + random() / 2 END,
  date '1940-01-01' + (random() * 20000)::int, i % 5 = 0 FROM generate_series(1, 12000) i;
INSERT INTO orders SELECT gen_random_uuid(), i, (ARRAY['open', 'paid', 'paid', 'lost'])[1 + (i + n) % 4]::state, 10 + 90 * random() * random(),
  timestamptz '2024-01-01 00:00+00' + random() * interval '300 days', CASE WHEN n = 1 THEN 'canary-7f3a' END FROM generate_series(1, 12000) i, generate_series(1, 1 + i % 3) n;
INSERT INTO orders SELECT gen_random_uuid(), 7, 'lost', 77777.7777, '2024-05-05', 'canary-7f3a';
INSERT INTO item SELECT id, n, least(1 + (random() * 4)::int, 3 + n), 'canary-7f3a' FROM orders, generate_series(1, 2) n;
INSERT INTO login SELECT 'canary-7f3a' || i, (random() * 1439)::int, 'canary-7f3a' FROM generate_series(1, 12000) i, generate_series(1, 1 + i % 4);
`

const shopPolicy = `version: 1
listen: 127.0.0.1:0
databases: {main: "${DPPROXY_MAIN_DSN}", shadow: "${DPPROXY_SHADOW_DSN}", admin: "${DPPROXY_ADMIN_DSN}"}
ledger: file:test.ledger
accounting: {method: rdp, delta: 1e-6}
defaults: {epsilon: 0.5, epsilon_max: 5}
analysts:
  alice: {password: "SCRAM-SHA-256$4096:c2FsdHNhbHRzYWx0c2FsdA==$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", budget: {epsilon: 10, delta: 1e-6}}
tables:
  person:
    privacy_unit: {name: person, column: id}
    max_rows_per_unit: 1
    columns: {id: {}, mail: {}, first_name: {}, note: {}, boss: {}, token: {}, about: {}, picture: {}, tags: {}, height: {bounds: [0, 3]}, born: {bounds: [1900-01-01, 2020-12-31]}, vip: {}}
  orders:
    privacy_unit: {name: person, column: person_id}
    max_rows_per_unit: 10
    columns: {id: {}, person_id: {}, state: {}, amount: {bounds: [0, 100000]}, at: {bounds: [2024-01-01, 2024-12-31]}, remark: {}}
  item:
    privacy_unit: {name: person, via: {column: order_id, references: orders.id}}
    max_rows_per_unit: 20
    columns: {order_id: {}, line: {bounds: [1, 9]}, pieces: {bounds: [1, 10]}, label: {}}
  login:
    privacy_unit: {name: visitor, column: person_name}
    max_rows_per_unit: 5
    columns: {person_name: {}, minute: {bounds: [0, 1439]}, agent: {}}
`

func newShop(t *testing.T, rows string) *world {
	return newWorld(t, shopPolicy, func(dsn string) error {
		conn, err := pgx.Connect(context.Background(), dsn)
		if err != nil {
			return err
		}
		defer conn.Close(context.Background())
		_, err = conn.PgConn().Exec(context.Background(), shopSchema+rows).ReadAll()
		return err
	})
}

// TestNoRowIsInTheTwin: no text of a private row, and no number that few have, is anywhere in the twin, whose keys
// and constraints hold; and it is the same for the same answers and seed. The number may be drawn by chance, of some 10⁷
// in its cell: less than once in 10⁶ runs. At ε = 30 counts are off by a tenth of what they are at the budget of other
// tests, and shares by a quarter of what they may be.
func TestNoRowIsInTheTwin(t *testing.T) {
	ctx := context.Background()
	w := newShop(t, shopRows)
	sharp := policy.Budget{Epsilon: 30, Delta: 1e-6}
	r, err := Run(ctx, w.policy, w.account(t, sharp), Options{Budget: sharp, Seed: 1}, w.sink, quiet)
	if err != nil {
		t.Fatal(err)
	}
	for _, made := range r.Tables {
		name := made.Name
		rows, err := w.twin.Query(ctx, "SELECT t::text FROM "+name.String()+" t")
		if err != nil {
			t.Fatal(err)
		}
		texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		all := strings.Join(texts, "\n")
		if strings.Contains(all, canary) || strings.Contains(all, canary[:9]) || strings.Contains(all, fmt.Sprintf("%x", canary)) ||
			strings.Contains(all, rare) {
			t.Errorf("a value of a row is in %s", name)
		}
		if len(texts) != made.Rows {
			t.Errorf("%s has %d rows of %d", name, len(texts), made.Rows)
		}
		broken := name.Relation == "orders" || name.Relation == "item"
		if made.Left > 0 != broken || made.Left > made.Rows/5 {
			t.Errorf("of %s %d rows were left out", name, made.Left)
		}
		t.Logf("%s: %d rows and %d that were left out, as %s", name, len(texts), made.Left, texts[len(texts)/2])
	}
	for sql, most := range map[string]float64{
		"SELECT state, count(*) FROM orders GROUP BY 1":                                               0.05,
		"SELECT vip, count(*) FROM person GROUP BY 1":                                                 0.05,
		"SELECT note IS NULL, count(*) FROM person GROUP BY 1":                                        0.05,
		"SELECT height IS NULL, count(*) FROM person GROUP BY 1":                                      0.05,
		"SELECT n, count(*) FROM (SELECT count(*) AS n FROM login GROUP BY person_name) x GROUP BY 1": 0.06,
		"SELECT n, count(*) FROM (SELECT count(*) AS n FROM item GROUP BY order_id) x GROUP BY 1":     0.1,
		"SELECT boss IS NULL, count(*) FROM person GROUP BY 1":                                        0.05,
		"SELECT n, count(*) FROM (SELECT count(*) AS n FROM orders GROUP BY person_id) x GROUP BY 1":  0.06,
		"SELECT extract(decade FROM born), count(*) FROM person GROUP BY 1":                           0.1,
		"SELECT extract(month FROM at AT TIME ZONE 'UTC'), count(*) FROM orders GROUP BY 1":           0.1,
	} {
		if x := w.apart(t, sql); x > most {
			t.Errorf("%s: %.1f %%", sql, 100*x)
		} else {
			t.Logf("%s: %.1f %%", sql, 100*x)
		}
	}
}

// TestEmptyTablesHaveATwin: of tables without rows a twin has few rows, whatever noise says, and no error tells.
func TestEmptyTablesHaveATwin(t *testing.T) {
	w := newShop(t, "")
	r, err := Run(context.Background(), w.policy, w.ledger, Options{Budget: budget}, w.sink, quiet)
	if err != nil {
		t.Fatal(err)
	}
	for _, made := range r.Tables {
		if made.Rows > 5000 { // of noise with a standard deviation of some hundred rows
			t.Errorf("%s has %d rows", made.Name, made.Rows)
		}
	}
}

// TestWhatRefersToAReplacedTableIsReplaced: where it has rows; or it is said before anything is charged.
func TestWhatRefersToAReplacedTableIsReplaced(t *testing.T) {
	ctx := context.Background()
	w := newShop(t, "")
	outline := func(filling string) (string, error) {
		if _, err := w.twin.Exec(ctx, filling); err != nil {
			t.Fatal(err)
		}
		lines, err := Outline(ctx, w.policy, Options{Tables: []string{"person"}, Budget: budget}, w.sink, quiet)
		return strings.Join(lines, "\n"), err
	}
	if all, err := outline(""); err != nil || strings.Contains(all, "orders by") {
		t.Errorf("an empty twin: %v\n%s", err, all)
	}
	all, err := outline(`INSERT INTO person VALUES (1, '', '', NULL, NULL, gen_random_uuid(), '{}', NULL, '{}', 1, '1980-01-01', true);
		INSERT INTO orders VALUES ('00000000-0000-4000-8000-000000000000', 1, 'open', 0, '2024-01-01', NULL);
		INSERT INTO item VALUES ('00000000-0000-4000-8000-000000000000', 1, 1, '')`)
	if err != nil || !strings.Contains(all, "orders by") || !strings.Contains(all, "item by") || strings.Contains(all, "login") {
		t.Errorf("a full one: %v\n%s", err, all)
	}
	_, err = outline("CREATE TABLE more (id int REFERENCES person); INSERT INTO more VALUES (1)")
	if err == nil || !strings.Contains(err.Error(), "rows of public.more refer to public.person") {
		t.Errorf("a table of nobody's: %v", err)
	}
	if _, err := (Database{w.policy.Databases.Main}).References(ctx, []policy.Name{{Schema: "public", Relation: "nobody"}}); err == nil {
		t.Error("a table that is not there")
	}
}

// TestOutlineNamesWhatIsAsked: of one table, with what it refers to.
func TestOutlineNamesWhatIsAsked(t *testing.T) {
	w := newShop(t, "")
	lines, err := Outline(context.Background(), w.policy, Options{Tables: []string{"orders"}, Budget: budget}, w.sink, quiet)
	all := strings.Join(lines, "\n")
	if err != nil || !strings.Contains(all, "public.orders by state") || !strings.Contains(all, "rows of public.person") ||
		strings.Contains(all, "login") || strings.Contains(all, "item by") {
		t.Errorf("%v: %s", err, all)
	}
	if _, err := Outline(context.Background(), w.policy, Options{Tables: []string{"nobody"}, Budget: budget}, w.sink, quiet); err == nil {
		t.Error("a table that is not there")
	}
}

// TestPureTwins: parts of a plain sum of ε add up to it, and no more is charged.
func TestPureTwins(t *testing.T) {
	w := newShop(t, "INSERT INTO person SELECT i, i, i, NULL, NULL, gen_random_uuid(), '{}', NULL, '{}', 1.7, '1980-01-01', true FROM generate_series(1, 100) i")
	w.policy.Accounting = policy.Accounting{Method: policy.Pure}
	for _, a := range w.policy.Analysts {
		a.Budget.Delta = 0
	}
	pure := policy.Budget{Epsilon: 3}
	r, err := Run(context.Background(), w.policy, w.account(t, pure), Options{Budget: pure}, w.sink, quiet)
	if err != nil {
		t.Fatal(err)
	}
	if r.Balance.EpsilonSpent > 3 || r.Balance.EpsilonSpent < 2.9 {
		t.Errorf("ε %g is spent of 3", r.Balance.EpsilonSpent)
	}
}
