package profile

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/accounting"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/mechanism/stattest"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// rental has the people, the rows and the values of the well-known Pagila, about: 599 customers with 27 rentals each.
const rental = `
CREATE TABLE customer (customer_id int PRIMARY KEY, first_name text NOT NULL, last_name text NOT NULL, email text, active int, create_date date NOT NULL,
  last_update timestamptz NOT NULL);
CREATE TABLE rental (rental_id int PRIMARY KEY, rental_date timestamptz NOT NULL, inventory_id int NOT NULL, customer_id int NOT NULL REFERENCES customer,
  return_date timestamptz, staff_id int NOT NULL, last_update timestamptz NOT NULL);
CREATE TABLE payment (payment_id int PRIMARY KEY, customer_id int NOT NULL REFERENCES customer, staff_id int NOT NULL, rental_id int NOT NULL,
  amount numeric(5,2) NOT NULL, payment_date timestamptz NOT NULL);
SELECT setseed(0.3);
INSERT INTO customer SELECT i, (ARRAY['Ann', 'Bob', 'Cid', 'Dee'])[1 + i % 4] || i / 9, CASE WHEN i % 8 = 0 THEN 'Peir' ELSE 'Name ' || i END, 'c' || i || '@example.org',
  (i % 40 <> 0)::int, '2006-02-14', '2006-02-15 09:57:20+00' FROM generate_series(1, 599) i;
INSERT INTO rental SELECT row_number() OVER (), t, 1 + floor(4000 * random()), i, CASE WHEN random() < 0.99 THEN t + random() * interval '9 days' END, 1 + n % 2,
    '2006-02-15 21:30:53+00'
  FROM (SELECT i, n, CASE WHEN random() < 0.011 THEN timestamptz '2006-02-14 15:16:03+00' ELSE timestamptz '2005-05-24 22:53:30+00' + sqrt(random()) * interval '91 days' END AS t
    FROM generate_series(1, 599) i, LATERAL generate_series(1, 12 + (i * 7919 % 11) + (i * 104729 % 11) + (i * 1299709 % 13) + CASE WHEN i % 97 = 0 THEN 7 ELSE 0 END) n) x;
INSERT INTO payment SELECT rental_id, customer_id, staff_id, rental_id, CASE WHEN random() < 0.0015 THEN 0 ELSE 0.99 + floor(11 * random() * random()) END, rental_date
  FROM rental;
`

// rentalPolicy is what init prints for it.
const rentalPolicy = head + `
tables:
  customer:
    privacy_unit: {name: customer, column: customer_id}
    max_rows_per_unit: 1
    columns: {customer_id: {}, first_name: {}, last_name: {}, email: {}, active: {}, create_date: {}, last_update: {}}
  payment:
    privacy_unit: {name: customer, column: customer_id}
    max_rows_per_unit: 100
    columns: {payment_id: {}, customer_id: {}, staff_id: {}, rental_id: {}, amount: {}, payment_date: {}}
  rental:
    privacy_unit: {name: customer, column: customer_id}
    max_rows_per_unit: 100
    columns: {rental_id: {}, rental_date: {}, inventory_id: {}, customer_id: {}, return_date: {}, staff_id: {}, last_update: {}}
`

const head = `version: 1
listen: 127.0.0.1:0
databases: {main: "${DPPROXY_MAIN_DSN}", shadow: "${DPPROXY_SHADOW_DSN}", admin: "${DPPROXY_ADMIN_DSN}"}
ledger: file:test.ledger
accounting: {method: rdp, delta: 1e-6}
defaults: {epsilon: 0.5, epsilon_max: 5}
budget: {epsilon: 40, delta: 1e-6}
analysts:
  alice: {password: "SCRAM-SHA-256$4096:c2FsdHNhbHRzYWx0c2FsdA==$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", budget: {epsilon: 10, delta: 1e-6}}
`

// staff are n people as those of the well-known employee database, about, and what they are paid.
func staff(n int) string {
	return fmt.Sprintf(`
CREATE TABLE employee (emp_no int PRIMARY KEY, birth_date date NOT NULL, first_name text NOT NULL, last_name text NOT NULL, hire_date date NOT NULL);
CREATE TABLE salary (emp_no int NOT NULL REFERENCES employee, amount int NOT NULL, from_date date NOT NULL, to_date date NOT NULL, PRIMARY KEY (emp_no, from_date));
CREATE TABLE title (emp_no int NOT NULL REFERENCES employee, title text NOT NULL, from_date date NOT NULL, PRIMARY KEY (emp_no, title, from_date));
SELECT setseed(0.5);
INSERT INTO employee SELECT i, date '1952-02-01' + floor(4750 * random())::int, (ARRAY['Ann', 'Bob', 'Cid'])[1 + i %% 3] || i / 200, 'Name ' || i / 6,
  date '1985-02-01' + floor(5450 * random() * random())::int FROM generate_series(1, %d) i;
INSERT INTO salary SELECT emp_no, 40000 + base + 1500 * n, hire_date + 365 * n, hire_date + 365 * (n + 1)
  FROM (SELECT *, floor(50000 * random() * random())::int AS base, floor(18 * random())::int AS years FROM employee) e, LATERAL generate_series(0, years) n;
INSERT INTO title SELECT emp_no, (ARRAY['Engineer', 'Staff', 'Technician', 'Manager'])[1 + (emp_no %% 3) + CASE WHEN n = 1 AND emp_no %% 6 = 0 THEN 1 ELSE 0 END], hire_date + 1000 * n
  FROM employee, generate_series(0, 1) n WHERE n = 0 OR emp_no %% 2 = 0;
`, n)
}

const staffPolicy = head + `
tables:
  employee:
    privacy_unit: {name: employee, column: emp_no}
    max_rows_per_unit: 1
    columns: {emp_no: {}, birth_date: {}, first_name: {}, last_name: {}, hire_date: {}}
  salary:
    privacy_unit: {name: employee, column: emp_no}
    max_rows_per_unit: 100
    columns: {emp_no: {}, amount: {}, from_date: {}, to_date: {}}
  title:
    privacy_unit: {name: employee, column: emp_no}
    max_rows_per_unit: 100
    columns: {emp_no: {}, title: {}, from_date: {}}
`

// filled runs SQL in a database.
func filled(t *testing.T, policy, sql string) (*policy.Policy, *pgx.Conn) {
	return database(t, policy, func(admin string) error {
		conn, err := pgx.Connect(context.Background(), admin)
		if err != nil {
			return err
		}
		defer conn.Close(context.Background())
		_, err = conn.PgConn().Exec(context.Background(), sql).ReadAll()
		return err
	})
}

// paying takes down what is charged, as shares of a profile's price.
type paying struct {
	room  accounting.Room
	whole float64
	took  []float64
}

func (l *paying) Charge(_ context.Context, charges []ledger.Charge) (ledger.Balance, error) {
	sum := 0.0
	for _, c := range charges {
		share, _ := l.room.Share(c.Curve)
		sum += share
	}
	l.took = append(l.took, sum/l.whole)
	return ledger.Balance{}, nil
}

func (*paying) Preview(context.Context, []ledger.Charge) (ledger.Balance, error) {
	return ledger.Balance{}, nil
}

func at(p *policy.Policy, epsilon float64) *paying {
	l := &paying{room: accounting.RoomOf(ledger.ConfigOf(p), policy.ProfileAccount)}
	l.whole, _ = l.room.Share(mechanism.LaplaceCurve(epsilon))
	return l
}

var quiet = slog.New(slog.DiscardHandler)

// TestFewHundredPeopleAreEnough: of the customers of rental, at ε = 5, it finds bounds of dates, money and rows, and
// nothing of what tells customers apart. A right program fails with a probability below 1e-6 (stattest.AtLeast).
func TestFewHundredPeopleAreEnough(t *testing.T) {
	p, conn := filled(t, rentalPolicy, rental)
	const runs = 3
	found, wanted, told := 0, 0, tally{}
	for range runs {
		l := at(p, 5)
		r, err := Run(context.Background(), p, l, Options{Epsilon: 5, Quantile: 0.999, Groups: true}, quiet)
		if err != nil || r.Failed != nil || r.TooFew != nil {
			t.Fatal(err, r)
		}
		printed := paths(r)
		if len(l.took) != 3 || l.took[0]+l.took[1]+l.took[2] > 1+1e-9 {
			t.Errorf("took %v of the price", l.took)
		}
		for path := range printed {
			if strings.Contains(path, "_id.") || strings.Contains(path, "name.") || strings.Contains(path, "email") {
				t.Errorf("%s was found: %s", path, printed[path])
			}
		}
		for _, path := range []string{
			"customer.columns.create_date.bounds", "payment.columns.amount.bounds", "payment.columns.amount.per_unit",
			"payment.columns.payment_date.bounds",
			"payment.columns.amount.outside", "payment.columns.payment_date.outside", "payment.max_rows_per_unit",
			"payment.left_out", "rental.columns.rental_date.bounds", "rental.max_rows_per_unit", "rental.left_out",
		} {
			if wanted++; printed["public."+path] != "" {
				found++
			}
		}
		beyond := func(column string) string {
			from, to, _ := strings.Cut(strings.Trim(strings.ReplaceAll(printed["public.payment.columns."+column+".bounds"], `"`,
				"'"), "[]"), ", ")
			return fmt.Sprintf("avg((%s NOT BETWEEN %s AND %s)::int)", column, from, to)
		}
		for path, sql := range map[string]string{
			"left_out": fmt.Sprintf(`greatest(sum(greatest(n - %s, 0)) / sum(n), sum(greatest(s - %s, 0)) / sum(s))
				FROM (SELECT count(*) AS n, sum(amount) AS s FROM payment GROUP BY customer_id) u`,
				printed["public.payment.max_rows_per_unit"], high(printed["public.payment.columns.amount.per_unit"])),
			"columns.amount.outside": fmt.Sprintf("greatest(%s, sum(greatest(amount - %s, 0)) / sum(amount)) FROM payment",
				beyond("amount"), high(printed["public.payment.columns.amount.bounds"])),
			"columns.payment_date.outside": beyond("payment_date") + " FROM payment",
		} {
			told.add(t, conn, printed, "public.payment."+path, sql, "public.payment.max_rows_per_unit",
				"public.payment.columns.amount.per_unit", "public.payment.columns.amount.bounds",
				"public.payment.columns.payment_date.bounds")
		}
	}
	if !stattest.AtLeast(found, wanted, 0.95) || !told.honest() {
		t.Errorf("%d of %d keys are found; %v", found, wanted, told)
	}
}

// tally counts shares that are asked for, those that hold the truth, and those that are near it.
type tally struct{ asked, holds, near int }

// add counts a share. SQL computes the truth of what is printed under other paths. Where the share or one of those is
// not printed, too little was known: of some 420 profiles of bank two said so of a column, for whose bounds or sums noise had
// chosen a cell beyond all values. That is honest, but neither holds the truth nor is near it.
func (c *tally) add(t *testing.T, conn *pgx.Conn, printed map[string]string, path, sql string, of ...string) {
	t.Helper()
	c.asked++
	for _, needed := range append(of, path) {
		if printed[needed] == "" {
			return
		}
	}
	share, err := strconv.ParseFloat(printed[path], 64)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	var truth float64
	if err := conn.QueryRow(context.Background(), "SELECT "+sql).Scan(&truth); err != nil {
		t.Fatalf("%s: %v; %v", sql, err, printed)
	}
	if truth <= share {
		c.holds++
	}
	if share <= truth+0.025 {
		c.near++
	}
}

// honest says whether 95 % may hold the truth, and 95 % be near it.
func (c tally) honest() bool {
	return stattest.AtLeast(c.holds, c.asked, 0.95) && stattest.AtLeast(c.near, c.asked, 0.95)
}

func (c tally) String() string {
	return fmt.Sprintf("of %d shares %d hold the truth, and %d are near it", c.asked, c.holds, c.near)
}

// bank are people with one account each, and what they paid in and took out.
const bank = `
CREATE TABLE account (person_id int PRIMARY KEY, balance numeric(9,2) NOT NULL, debt int NOT NULL);
CREATE TABLE booking (booking_id int PRIMARY KEY, person_id int NOT NULL REFERENCES account, amount numeric(9,2) NOT NULL,
  place int NOT NULL);
SELECT setseed(0.7);
INSERT INTO account SELECT i, 2000 * (random() + random() - 0.8) * CASE WHEN i % 3000 = 0 THEN 3 ELSE 1 END, -100 - floor(900 * random()) FROM generate_series(1, 6000) i;
INSERT INTO booking SELECT row_number() OVER (), person_id, 100 * (random() + random() - 0.9) * CASE WHEN random() < 0.001 THEN 3 ELSE 1 END, n * n % 20
  FROM account, generate_series(1, 8 + person_id % 5) n;
`

const bankPolicy = head + `
tables:
  account:
    privacy_unit: {name: person, column: person_id}
    max_rows_per_unit: 1
    columns: {person_id: {}, balance: {}, debt: {}}
  booking:
    privacy_unit: {name: person, column: person_id}
    max_rows_per_unit: 100
    columns: {booking_id: {}, person_id: {}, amount: {}, place: {bounds: [0, 19]}}
`

// TestSharesOfBothSigns: what is beyond the bounds of numbers that reach below 0 is found, of the rows, of what is
// above 0 and of what is below, for a price that is no higher. A right program fails with a probability below 1e-6
// (stattest.AtLeast).
func TestSharesOfBothSigns(t *testing.T) {
	p, conn := filled(t, bankPolicy, bank)
	const runs = 4
	told := tally{}
	for range runs {
		l := at(p, 5)
		r, err := Run(context.Background(), p, l, Options{Epsilon: 5, Quantile: 0.999, Groups: true}, quiet)
		if err != nil || r.Failed != nil || r.TooFew != nil {
			t.Fatal(err, r)
		}
		if len(l.took) != 3 || l.took[0]+l.took[1]+l.took[2] > 1+1e-9 {
			t.Errorf("took %v of the price", l.took)
		}
		printed := paths(r)
		const rows, inPlace = "public.booking.max_rows_per_unit", "public.booking.columns.place.max_rows_per_unit_and_group"
		told.add(t, conn, printed, "public.booking.left_out", fmt.Sprintf(`sum(greatest(n - %s, e)) / sum(n) FROM
			(SELECT sum(n) AS n, sum(greatest(n - %s, 0)) AS e FROM (SELECT person_id, count(*) AS n FROM booking GROUP BY person_id, place) g
			GROUP BY person_id) u`, printed[rows], printed[inPlace]), rows, inPlace)
		for table, columns := range map[string][]string{"account": {"balance", "debt"}, "booking": {"amount"}} {
			for _, x := range columns {
				path := "public." + table + ".columns." + x + "."
				low, to, _ := strings.Cut(strings.Trim(printed[path+"bounds"], "[]"), ", ")
				if sign(low) >= 0 { // as far off as bounds that are not printed
					delete(printed, path+"bounds")
				}
				told.add(t, conn, printed, path+"outside", fmt.Sprintf(
					`greatest(avg((%[1]s NOT BETWEEN %[2]s AND %[3]s)::int),
					CASE WHEN %[3]s > 0 THEN sum(greatest(%[1]s - %[3]s, 0)) / nullif(sum(greatest(%[1]s, 0)), 0) END, sum(greatest(%[2]s - %[1]s, 0)) / sum(greatest(-%[1]s, 0)))
					FROM %[4]s`, x, low, to, table), path+"bounds")
			}
		}
	}
	if !told.honest() {
		t.Error(told)
	}
}

// high is the upper end of printed bounds.
func high(pair string) string {
	_, high, _ := strings.Cut(strings.Trim(pair, "[]"), ", ")
	return high
}

// TestDomainsAreOfMany: a title that most have is one of few; a name that some share is none, whatever its column is
// called.
func TestDomainsAreOfMany(t *testing.T) {
	sql := staff(10_000) +
		"ALTER TABLE employee RENAME COLUMN last_name TO family; UPDATE employee SET family = 'Peir' WHERE emp_no % 20 = 0;"
	p, _ := filled(t, strings.Replace(staffPolicy, "last_name: {}", "family: {}", 1), sql)
	r, err := Run(context.Background(), p, at(p, 5), Options{Epsilon: 5, Quantile: 0.999, Groups: true}, quiet)
	if err != nil || r.Failed != nil || r.TooFew != nil {
		t.Fatal(err, r)
	}
	printed := paths(r)
	if got := printed["public.title.columns.title.values"]; !strings.Contains(got, `"Engineer", `) {
		t.Errorf("titles: %q of %v", got, r.Remarks)
	}
	if got := printed["public.employee.columns.family.values"]; got != "" ||
		!strings.Contains(strings.Join(r.Remarks, "\n"), "family: no domain") {
		t.Errorf("names: %q, %v", got, r.Remarks)
	}
	for _, path := range []string{
		"employee.columns.hire_date.bounds", "employee.columns.birth_date.bounds",
		"salary.columns.amount.bounds", "salary.max_rows_per_unit",
	} {
		if printed["public."+path] == "" {
			t.Errorf("%s is not found: %v", path, r.Remarks)
		}
	}
}

// TestTooFewCostATwentieth: of 59 people nothing can be found, which is said after they were counted.
func TestTooFewCostATwentieth(t *testing.T) {
	p, _ := filled(t, staffPolicy, staff(59))
	l := at(p, 5)
	r, err := Run(context.Background(), p, l, Options{Epsilon: 5, Quantile: 0.999, Groups: true}, quiet)
	if err != nil || r.Failed != nil || r.TooFew == nil || len(r.Keys) > 0 {
		t.Fatalf("%v, %+v", err, r)
	}
	if len(l.took) != 1 || l.took[0] > countPart*1.000001 {
		t.Errorf("took %v of the price", l.took)
	}
	if !strings.Contains(r.TooFew.Error(), "would do") {
		t.Error(r.TooFew)
	}
}
