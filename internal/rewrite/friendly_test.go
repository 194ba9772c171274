package rewrite_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// strangers are units that have visits and no patient.
const strangers = 20

// fill replaces all rows by random ones within every declared bound: what the policy promises of main. There are NULLs,
// duplicates, several rows per unit, units without rows in some tables, and rows that belong to no unit.
func (w *world) fill(random *rand.Rand, patients int) error {
	var people, visits, labs, profiles, staff []string
	maybe := func(v string) string {
		if random.IntN(8) == 0 {
			return "NULL"
		}
		return v
	}
	pick := func(v ...string) string { return "'" + v[random.IntN(len(v))] + "'" }
	day := func() string { return fmt.Sprintf("date '2020-01-01' + %d", random.IntN(731)) }
	cents := func(n int) string { return fmt.Sprintf("%g", float64(random.IntN(n))/100) }
	lab := func(visit int) {
		labs = append(labs, fmt.Sprintf("(%d, %d, %s, %s)", len(labs)+1, visit, pick("a", "b"), maybe(cents(10001))))
	}
	for id := 1; id <= patients+strangers; id++ {
		if id <= patients {
			people = append(people, fmt.Sprintf("(%d, %s, %s, %s, %s, %s, %d, %s, %s, %s, %s, %s, %s, %s, %s, %s)", id,
				pick("Bob", "Ann", "Abe", "O''Brien", "Zoe"), maybe(strconv.Itoa(random.IntN(121))),
				maybe(strconv.Itoa(random.IntN(500001))),
				maybe(cents(25001)), maybe(cents(301)), random.IntN(10), pick("asthma", "cold", "flu"),
				maybe(pick("icu", "er", "onc")), day(),
				maybe(fmt.Sprintf("timestamptz '2020-01-01 00:00+00' + interval '%d seconds'", random.IntN(731*86400))),
				maybe(fmt.Sprintf("interval '%d seconds'", random.IntN(30*86400))), maybe(strconv.FormatBool(random.IntN(2) == 0)),
				maybe(pick("bad", "so-so", "good")+"::mood"), maybe(strconv.Itoa(random.IntN(11))), maybe(pick("x", "y", "z"))))
		}
		for range random.IntN(5) {
			unit := strconv.Itoa(id)
			if random.IntN(12) == 0 {
				unit = "NULL"
			}
			visits = append(visits, fmt.Sprintf("(%d, %s, %s, %s, %s, %d, %s, %v)", len(visits)+1, unit,
				pick("icu", "er", "onc"), day(),
				maybe(fmt.Sprintf("%d.%02d", random.IntN(1500), random.IntN(100))), random.IntN(71)-10,
				maybe(fmt.Sprintf("timestamp '2020-01-01' + interval '%d seconds'", random.IntN(731*86400))), random.IntN(2) == 0))
			for range random.IntN(3) {
				lab(len(visits))
			}
		}
		if random.IntN(3) > 0 {
			profiles = append(profiles, fmt.Sprintf("(%d, %s, %d)", id, pick("Rome", "Oslo"), 100+random.IntN(121)))
		}
	}
	for range 50 {
		lab(0) // no such visit
	}
	for id := range 20 {
		staff = append(staff, fmt.Sprintf("(%d, %s, %d)", id, pick("icu", "er", "onc"), random.IntN(101)))
	}
	var b strings.Builder
	b.WriteString("TRUNCATE patients, visits, lab_results, profiles, staff, calls, ratings, bookings;\n")
	for _, t := range []struct {
		name string
		rows []string
	}{{"patients", people}, {"visits", visits}, {"lab_results", labs}, {"profiles", profiles}, {"staff", staff}} {
		fmt.Fprintf(&b, "INSERT INTO %s VALUES %s;\n", t.name, strings.Join(t.rows, ",\n"))
	}
	b.WriteString(
		`INSERT INTO calls SELECT row_number() OVER (), 10 * g + s, CASE WHEN g % 12 > 0 THEN g END, (ARRAY['web', 'phone'])[1 + (g / 3 + s + c) % 2], g * 37 * s % 601, CASE WHEN s > 1 AND g % 5 > 0 THEN 10 * g + 1 END
		FROM generate_series(1, (SELECT max(id) FROM patients)) g CROSS JOIN LATERAL generate_series(1, g % 4) s CROSS JOIN LATERAL generate_series(1, 1 + (g / 7 + s) % 2) c;
	INSERT INTO ratings SELECT DISTINCT session_id, patient_id, 1 + (session_id % 5)::int FROM calls WHERE session_id % 3 > 0;
	INSERT INTO bookings SELECT row_number() OVER (), CASE WHEN g % 13 > 0 THEN g END, (ARRAY['icu', 'er', 'onc'])[1 + (g + s) % 3],
		CASE WHEN g % 11 = 0 THEN NULL WHEN g % 7 = 0 THEN 'empty' WHEN (g + s) % 9 = 0 THEN daterange(day, NULL) WHEN (g + s) % 10 = 0 THEN daterange(NULL, day, '[]') ELSE daterange(day, day + g % 20, '[]') END,
		CASE WHEN g % 11 = 5 THEN NULL WHEN g % 7 = 3 THEN 'empty' WHEN (g + s) % 9 = 4 THEN tstzrange(moment, NULL) ELSE tstzrange(moment, moment + g % 90 * interval '1 hour', '[]') END,
		CASE WHEN g % 7 = 4 THEN '(,)' ELSE tsrange(moment::timestamp, moment::timestamp + g % 90 * interval '1 hour', '()') END,
		int4range(g % 40, g % 40 + s, '[]'), CASE WHEN g % 8 > 0 THEN numrange(g % 150 / 10.0, g % 150 / 10.0 + s * 1.25, '(]') END, int8range(g, g + s), NULL
		FROM generate_series(1, (SELECT max(id)::int FROM patients)) g CROSS JOIN LATERAL generate_series(1, g % 5) s
		CROSS JOIN LATERAL (SELECT date '2020-01-01' + (g * 7 + s * 50) % 700 AS day, timestamptz '2020-01-01 00:00Z' + (g * 11 + s * 300) % 17400 * interval '1 hour' AS moment) d;
	ANALYZE`)
	_, err := w.main.Exec(context.Background(), b.String())
	return err
}

// dropUnitless deletes the rows that belong to no unit, which are in no answer.
func (w *world) dropUnitless() error {
	_, err := w.main.Exec(context.Background(), `
		DELETE FROM visits WHERE patient_id IS NULL;
		DELETE FROM calls WHERE patient_id IS NULL;
		DELETE FROM bookings WHERE patient_id IS NULL;
		DELETE FROM ratings WHERE of_patient IS NULL;
		DELETE FROM lab_results l WHERE NOT EXISTS (SELECT FROM visits v WHERE v.visit_id = l.visit_id)`)
	return err
}
