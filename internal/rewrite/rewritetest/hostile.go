package rewritetest

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// Units are the keys of a hostile database's privacy units: negative, huge, and two that are one number as float8. The last
// has visits but no patient.
var Units = []int64{1, 2, -3, 1 << 53, 1<<53 + 1}

// Hostile is the SQL of a small database of testdata/schema.sql whose rows break every promise that the schema does not enforce.
func Hostile(random *rand.Rand) string {
	h := hostile{random: random}
	h.b.WriteString("TRUNCATE patients, visits, lab_results, profiles, staff;\n")
	only := random.IntN(4 * len(Units)) // in one database of four, one unit alone has visits: what it adds is not hidden by the others
	for i, id := range Units {
		if i < len(Units)-1 {
			h.patient(id)
		}
		if only >= len(Units) || only == i {
			h.visits(id)
		}
		if random.IntN(3) > 0 {
			h.insert("profiles", id, h.text(), h.pick("0", "-2147483648", "180", "2147483647"))
		}
		h.insert("staff", i+1, h.ward(), h.pick("0", "100", "50", "2147483647", "-2147483648"))
	}
	return h.b.String()
}

// Without is the SQL that removes a unit, by its place in Units, with all its rows.
func Without(unit int) string {
	return fmt.Sprintf(`DELETE FROM lab_results l USING visits v WHERE v.visit_id = l.visit_id AND v.patient_id = %[1]d;
		DELETE FROM visits WHERE patient_id = %[1]d; DELETE FROM profiles WHERE patient_id = %[1]d; DELETE FROM patients WHERE id = %[1]d;
		DELETE FROM staff WHERE staff_id = %[2]d;
		`, Units[unit], unit+1)
}

// Unitless is the SQL that removes the rows that belong to no unit.
const Unitless = `DELETE FROM visits WHERE patient_id IS NULL;
	DELETE FROM lab_results l WHERE NOT EXISTS (SELECT FROM visits v WHERE v.visit_id = l.visit_id);
	`

// Reordered is the SQL that puts the rows of tables into another order on disk. A column is "table.column", and order is an
// expression of the column %s.
func Reordered(order string, columns ...string) string {
	sql := ""
	for _, c := range columns {
		table, column, _ := strings.Cut(c, ".")
		sql += fmt.Sprintf("WITH d AS (DELETE FROM %[1]s RETURNING *) INSERT INTO %[1]s SELECT * FROM d ORDER BY %[2]s;\n", table, fmt.Sprintf(order, column))
	}
	return sql
}

// hostile writes the rows.
type hostile struct {
	random     *rand.Rand
	b          strings.Builder
	visit, lab int
}

func (h *hostile) insert(table string, values ...any) {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = fmt.Sprint(v)
	}
	fmt.Fprintf(&h.b, "INSERT INTO %s VALUES (%s);\n", table, strings.Join(texts, ", "))
}

func (h *hostile) pick(v ...string) string { return v[h.random.IntN(len(v))] }

func (h *hostile) choose(n ...int) int { return n[h.random.IntN(len(n))] }

func (h *hostile) age() string {
	return h.pick("NULL", "0", "120", "30", "31", "65", "-2147483648", "2147483647", "-1", "121")
}

func (h *hostile) money() string {
	return h.pick("NULL", "'NaN'", "0", "99999999.99", "-99999999.99", "100.005", "1999.995", "12.34")
}

func (h *hostile) float() string {
	return h.pick("NULL", "'NaN'", "'Infinity'", "'-Infinity'", "1e308", "-1e308", "5e-324", "-0.0", "0", "70.5", "99.99", "0.1", "0.30000000000000004")
}

func (h *hostile) real() string {
	return h.pick("NULL", "'NaN'", "'Infinity'", "3e38", "-3e38", "1e-45", "-0.0", "1.75", "0.1")
}

// text has two spellings of é, which are different texts and look alike.
func (h *hostile) text() string {
	return h.pick("''", "'Bob'", "'Ann'", "'ANN'", `'A%_\'`, "repeat('x', 300)", `E'\x01\n'`, "'é'", "U&'e\\0301'")
}

func (h *hostile) ward() string { return h.pick("'icu'", "'er'", "'onc'", "'nowhere'", "''") }

// date is mostly one of few: rows with equal dates try every order.
func (h *hostile) date() string {
	if h.random.IntN(6) == 0 {
		return h.pick("'2020-03-08'", "'2020-11-01'", "'2021-02-12'", "'4713-01-01 BC'", "'5874897-12-31'")
	}
	return h.pick("'2020-01-01'", "'2021-12-31'", "'2020-06-15'", "'infinity'", "'-infinity'")
}

// stamp has the hours that clocks leave out and repeat: New York and Lord Howe, in spring and in autumn, as local times or in UTC.
func (h *hostile) stamp() string {
	return h.pick("NULL", "'2020-01-01'", "'2021-06-01 23:59:59.999999'", "'infinity'", "'-infinity'", "'4713-01-01 BC'", "'294276-12-31 23:59:59.999999'",
		"'2020-03-08 02:30:00'", "'2020-03-08 07:00:00'", "'2020-11-01 01:30:00'", "'2020-11-01 05:30:00'", "'2020-11-01 06:30:00'", "'2020-04-05 01:45:00'", "'2020-10-04 02:15:00'", "'2020-06-15 18:30:00'")
}

func (h *hostile) interval() string {
	return h.pick("NULL", "'0'", "'29 days 23:59:59.9'", "'24:00'", "'1 day'", "'-178000000 years'", "'178000000 years'", "'1 mon -30 days'",
		"'5900000 years -2147483640 days 5 hours'", "'-71582788 months 2147483640 days'")
}

func (h *hostile) patient(id int64) {
	h.insert("patients", id, h.text(), h.age(), h.money(), h.float(), h.real(), h.pick("-32768", "32767", "0", "5", "9"),
		h.pick("'asthma'", "'cold'", "'flu'", "'plague'"), h.pick("NULL", h.ward()), h.date(), h.stamp(), h.interval(),
		h.pick("NULL", "true", "false"), h.pick("NULL", "'bad'", "'good'"), h.pick("NULL", "0", "10", "7"), h.pick("NULL", h.text()))
}

func (h *hostile) visits(id int64) {
	for range h.choose(0, 1, 4, 9, 40) { // up to ten times what the policy lets a unit have
		h.visit++
		h.insert("visits", h.visit, h.unit(id), h.ward(), h.date(), h.money(), h.pick("0", "60", "-10", "5", "30", "-2147483648", "2147483647"), h.stamp(), h.pick("true", "false"))
		for range h.choose(0, 0, 1, 12) {
			h.lab++
			h.insert("lab_results", h.lab, h.visit+h.random.IntN(2), h.pick("'a'", "'b'", "'c'"), h.float())
		}
	}
}

// unit is that of most rows of a unit; some have none.
func (h *hostile) unit(id int64) string {
	if h.random.IntN(10) == 0 {
		return "NULL"
	}
	return strconv.FormatInt(id, 10)
}
