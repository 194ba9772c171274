package main

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"sort"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

const (
	people    = 20_000
	maxVisits = 20 // of one patient: max_rows_per_unit in people.yaml
	wards     = 10
	days      = 1095 // of three years; a patient has one visit on a day, 3 in a month, and one with each code
	inMonth   = 3
	codes     = 2000
	skew      = .75      // a diagnosis, one of as many, is the more rare by its rank to this power
	seed      = 20260101 // makes the people the same in every run
)

const peopleSchema = `
CREATE TABLE patients (id bigint PRIMARY KEY, age int NOT NULL);
CREATE TABLE payments (customer_id bigint NOT NULL, amount numeric(5,2) NOT NULL);
CREATE TABLE visits (patient_id bigint NOT NULL REFERENCES patients, ward text NOT NULL, cost numeric(10,2) NOT NULL, minutes int NOT NULL,
	visited date NOT NULL, code int NOT NULL, month int NOT NULL, urgent bool NOT NULL, diagnosis text NOT NULL);`

func wardName(i int) string { return fmt.Sprintf("w%d", i) }

func wardList() string {
	names := make([]string, wards)
	for i := range names {
		names[i] = wardName(i)
	}
	return strings.Join(names, ", ")
}

// loadPeople makes 20,000 patients with 1 to 20 visits each, about 5 on average and most of them in the patient's own
// ward. Costs are log-normal with a mean of about 1,700, minutes exponential with a mean of about 45; days and codes
// are any that the patient has not had; diagnoses follow Zipf's law.
func loadPeople(ctx context.Context, conn *pgx.Conn) error {
	if _, err := conn.Exec(ctx, peopleSchema); err != nil {
		return err
	}
	r, places := rand.New(rand.NewPCG(seed, 1)), rand.New(rand.NewPCG(seed, 3))
	diagnosis := zipf(rand.New(rand.NewPCG(seed, 4)))
	var patients, visits [][]any
	for id := range int64(people) {
		patients = append(patients, []any{id, int32(min(max(47+22*r.NormFloat64(), 0), 110))})
		home, had := r.IntN(wards), calendar{map[string]int{}, map[int]bool{}}
		for range min(1+int(4.4*r.ExpFloat64()), maxVisits) {
			ward := home
			if r.Float64() < 0.2 {
				ward = r.IntN(wards)
			}
			cents := int64(100 * min(1230*math.Exp(0.8*r.NormFloat64()), 20000))
			cost := pgtype.Numeric{Int: big.NewInt(cents), Exp: -2, Valid: true}
			visited, code := had.next(places)
			minutes, n := int32(min(45*r.ExpFloat64(), 600)), len(visits)
			visits = append(visits, []any{
				id, wardName(ward), cost, minutes, visited, code, int32(1 + n%12), n%7 < 2, diagnosis(),
			})
		}
	}
	if _, err := conn.CopyFrom(ctx, pgx.Identifier{"patients"}, []string{"id", "age"}, pgx.CopyFromRows(patients)); err != nil {
		return err
	}
	columns := []string{"patient_id", "ward", "cost", "minutes", "visited", "code", "month", "urgent", "diagnosis"}
	if _, err := conn.CopyFrom(ctx, pgx.Identifier{"visits"}, columns, pgx.CopyFromRows(visits)); err != nil {
		return err
	}
	if _, err := conn.CopyFrom(ctx, pgx.Identifier{"payments"}, []string{"customer_id", "amount"},
		pgx.CopyFromRows(makePayments())); err != nil {
		return err
	}
	_, err := conn.Exec(ctx, "CREATE INDEX ON visits (patient_id); ANALYZE")
	return err
}

// calendar is what a patient has had: visits by day and month, and codes.
type calendar struct {
	visits map[string]int
	codes  map[int]bool
}

// next draws a day and a code.
func (c calendar) next(r *rand.Rand) (day time.Time, code int32) {
	for {
		day = time.Date(2021, 1, 1+r.IntN(days), 0, 0, 0, 0, time.UTC)
		on, in := day.Format(time.DateOnly), day.Format("2006-01")
		if c.visits[on] == 0 && c.visits[in] < inMonth {
			c.visits[on], c.visits[in] = 1, c.visits[in]+1
			break
		}
	}
	for {
		if code = int32(r.IntN(codes)); !c.codes[int(code)] {
			c.codes[int(code)] = true
			return day, code
		}
	}
}

// zipf draws diagnoses.
func zipf(r *rand.Rand) func() string {
	upTo := make([]float64, codes)
	all := 0.0
	for i := range upTo {
		all += math.Pow(float64(i+1), -skew)
		upTo[i] = all
	}
	return func() string { return fmt.Sprintf("d%04d", sort.SearchFloat64s(upTo, all*r.Float64())) }
}

// prices says how many of 16,000 payments have each price, from 0.99 on, as in the sample database Pagila.
var prices = []int{2979, 618, 3542, 1050, 3789, 1306, 1119, 621, 486, 257, 104, 8}

// makePayments makes 12 to 46 payments of each of 599 customers.
func makePayments() (rows [][]any) {
	r := rand.New(rand.NewPCG(seed, 2))
	all := 0
	for _, n := range prices {
		all += n
	}
	for id := range int64(599) {
		for range min(max(int(26.8+5.2*r.NormFloat64()), 12), 46) {
			dollars, at := 0, r.IntN(all)
			for ; at >= prices[dollars]; dollars++ {
				at -= prices[dollars]
			}
			rows = append(rows, []any{id, pgtype.Numeric{Int: big.NewInt(int64(100*dollars + 99)), Exp: -2, Valid: true}})
		}
	}
	return rows
}
