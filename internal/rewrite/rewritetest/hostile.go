package rewritetest

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// Units are the keys of a hostile database's privacy units: negative, huge, and two that are one number as float8. The
// last has visits but no patient.
var Units = []int64{1, 2, -3, 1 << 53, 1<<53 + 1}

// Hostile is the SQL of a small database of testdata/schema.sql whose rows break every promise that the schema does not
// enforce. Units differ in it as much as they can, so that what one adds is not hidden by the others, and what one lets
// others count shows. Databases of consecutive numbers are of all kinds.
func Hostile(random *rand.Rand, number int) string {
	h := hostile{random: random}
	h.b.WriteString("SET session_replication_role = replica;\n") // no foreign key is checked
	h.b.WriteString("TRUNCATE patients, visits, lab_results, profiles, staff, calls, ratings, bookings;\n")
	one := random.IntN(len(Units) - 1) // a patient
	other := (one + 1 + random.IntN(len(Units)-2)) % (len(Units) - 1)
	alone := number%3 == 1 // this unit alone has rows beside visits
	for i, id := range Units {
		h.ordinary = random.IntN(2) == 0
		if i < len(Units)-1 {
			h.patient(id)
		}
		switch {
		case number%4 == 1 && (i == one || i == other): // two units have visits, and meet in no group
			h.ordinary = true
			h.visits(id, lone(i == one), !alone || i == other)
		case number%4 == 2 && i == one: // this unit alone has visits
			h.visits(id, h.habits(), true)
		case number%4 == 0 || number%4 == 3:
			h.visits(id, h.habits(), !alone || i == one)
		}
		if alone && i == one || !alone && random.IntN(3) > 0 {
			h.insert("profiles", id, h.text(), h.pick("0", "-2147483648", "180", "2147483647"))
		}
		h.insert("staff", i+1, h.ward(), h.pick("0", "100", "50", "2147483647", "-2147483648"))
	}
	h.calls(number)
	h.bookings(number)
	return h.b.String()
}

// calls of all units are in few sessions: what the policy says of their numbers is not true. A stream of its own leaves
// the other tables as they are.
func (h *hostile) calls(number int) {
	h.random, h.ordinary = rand.New(rand.NewPCG(uint64(number), 6)), false
	call := 0
	for _, id := range Units {
		session := func() string { return h.pick("1", "2", "3", strconv.FormatInt(id, 10), strconv.Itoa(call)) }
		for range h.choose(0, 1, 6, 30) {
			call++
			h.insert("calls", call, session(), h.unit(id), h.pick("'web'", "'phone'", "'fax'"),
				h.pick("0", "60", "600", "-1", "2147483647"), h.pick("NULL", session()))
		}
		for range h.choose(0, 1, 4, 12) {
			h.insert("ratings", session(), h.unit(id), h.pick("1", "5", "3", "-2147483648", "2147483647"))
		}
	}
}

// Without is the SQL that removes a unit, by its place in Units, with all its rows.
func Without(unit int) string {
	return fmt.Sprintf(`DELETE FROM lab_results l USING visits v WHERE v.visit_id = l.visit_id AND v.patient_id = %[1]d;
		DELETE FROM visits WHERE patient_id = %[1]d; DELETE FROM profiles WHERE patient_id = %[1]d; DELETE FROM patients WHERE id = %[1]d;
		DELETE FROM calls WHERE patient_id = %[1]d; DELETE FROM bookings WHERE patient_id = %[1]d; DELETE FROM ratings WHERE of_patient = %[1]d; DELETE FROM staff WHERE staff_id = %[2]d;
		`, Units[unit], unit+1)
}

// Unitless is the SQL that removes the rows that belong to no unit.
const Unitless = `DELETE FROM visits WHERE patient_id IS NULL;
	DELETE FROM calls WHERE patient_id IS NULL;
	DELETE FROM bookings WHERE patient_id IS NULL;
	DELETE FROM ratings r WHERE NOT EXISTS (SELECT FROM patients p WHERE p.id = r.of_patient);
	DELETE FROM lab_results l WHERE NOT EXISTS (SELECT FROM visits v WHERE v.visit_id = l.visit_id);
	`

// OneUnit is the SQL that makes true what the policy says of sessions.
const OneUnit = `DELETE FROM calls c USING calls o WHERE o.session_id = c.session_id AND COALESCE(o.patient_id, 0) < COALESCE(c.patient_id, 0);
	UPDATE calls c SET follows = NULL
		WHERE NOT EXISTS (SELECT FROM calls o WHERE o.session_id = c.follows AND o.patient_id IS NOT DISTINCT FROM c.patient_id);
	DELETE FROM ratings r WHERE NOT EXISTS (SELECT FROM calls o WHERE o.session_id = r.session_id
		AND o.patient_id IS NOT DISTINCT FROM (SELECT p.id FROM patients p WHERE p.id = r.of_patient));
	`

// Reordered is the SQL that puts the rows of tables into another order on disk. A column is "table.column", and order
// is an expression of the column %s.
func Reordered(order string, columns ...string) string {
	sql := ""
	for _, c := range columns {
		table, column, _ := strings.Cut(c, ".")
		sql += fmt.Sprintf("WITH d AS (DELETE FROM %[1]s RETURNING *) INSERT INTO %[1]s SELECT * FROM d ORDER BY %[2]s;\n",
			table, fmt.Sprintf(order, column))
	}
	return sql
}

// hostile writes the rows.
type hostile struct {
	random     *rand.Rand
	b          strings.Builder
	visit, lab int
	ordinary   bool // most values of the unit are within the bounds of the policy
}

func (h *hostile) insert(table string, values ...any) {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = fmt.Sprint(v)
	}
	fmt.Fprintf(&h.b, "INSERT INTO %s VALUES (%s);\n", table, strings.Join(texts, ", "))
}

func (h *hostile) pick(v ...string) string { return v[h.random.IntN(len(v))] }

// usually takes one of values that are ordinary, where the unit is; but for one in eight.
func (h *hostile) usually(ordinary ...string) (string, bool) {
	if !h.ordinary || h.random.IntN(8) == 0 {
		return "", false
	}
	return h.pick(ordinary...), true
}

func (h *hostile) choose(n ...int) int { return n[h.random.IntN(len(n))] }

func (h *hostile) age() string {
	if v, ok := h.usually("5", "12", "20", "30", "40", "65", "90"); ok {
		return v
	}
	return h.pick("NULL", "0", "120", "30", "31", "65", "-2147483648", "2147483647", "-1", "121")
}

func (h *hostile) money() string {
	if v, ok := h.usually("0", "1", "12.34", "100", "500.50", "1999.99"); ok {
		return v
	}
	return h.pick("NULL", "'NaN'", "0", "99999999.99", "-99999999.99", "100.005", "1999.995", "12.34",
		strconv.Itoa(h.random.IntN(2000)))
}

func (h *hostile) float() string {
	if v, ok := h.usually("0.1", "1.75", "20", "70.5", "99.99"); ok {
		return v
	}
	return h.pick("NULL", "'NaN'", "'Infinity'", "'-Infinity'", "1e308", "-1e308", "5e-324", "-0.0", "0", "70.5", "99.99",
		"0.1", "0.30000000000000004")
}

func (h *hostile) real() string {
	if v, ok := h.usually("0.1", "1.5", "1.75", "1.9"); ok {
		return v
	}
	return h.pick("NULL", "'NaN'", "'Infinity'", "3e38", "-3e38", "1e-45", "-0.0", "1.75", "0.1")
}

// text has two spellings of é, which are different texts and look alike.
func (h *hostile) text() string {
	if v, ok := h.usually("'Bob'", "'Ann'", "'ann'", "'ada'", "'x'", "'O''Brien'"); ok {
		return v
	}
	return h.pick("''", "'Bob'", "'Ann'", "'ANN'", `'A%_\'`, "repeat('x', 300)", `E'\x01\n'`, "'é'", "U&'e\\0301'")
}

func (h *hostile) ward() string {
	if v, ok := h.usually("'icu'", "'er'", "'onc'"); ok {
		return v
	}
	return h.pick("'icu'", "'er'", "'onc'", "'nowhere'", "''", fmt.Sprintf("'w%d'", h.random.IntN(12)))
}

// date is mostly one of few: rows with equal dates try every order.
func (h *hostile) date() string {
	if h.random.IntN(6) == 0 {
		return h.pick("'2020-03-08'", "'2020-11-01'", "'2021-02-12'", "'4713-01-01 BC'", "'5874897-12-31'")
	}
	return h.pick("'2020-01-01'", "'2021-12-31'", "'2020-06-15'", "'infinity'", "'-infinity'")
}

// stamp has the hours that clocks leave out and repeat: New York and Lord Howe, in spring and in autumn, as local times
// or in UTC.
func (h *hostile) stamp() string {
	return h.pick("NULL", "'2020-01-01'", "'2021-06-01 23:59:59.999999'", "'infinity'", "'-infinity'", "'4713-01-01 BC'",
		"'294276-12-31 23:59:59.999999'",
		"'2020-03-08 02:30:00'", "'2020-03-08 07:00:00'", "'2020-11-01 01:30:00'", "'2020-11-01 05:30:00'",
		"'2020-11-01 06:30:00'", "'2020-04-05 01:45:00'", "'2020-10-04 02:15:00'", "'2020-06-15 18:30:00'")
}

func (h *hostile) interval() string {
	if v, ok := h.usually("'0'", "'1 day'", "'24:00'", "'3 days'"); ok {
		return v
	}
	return h.pick("NULL", "'0'", "'29 days 23:59:59.9'", "'24:00'", "'1 day'", "'-178000000 years'", "'178000000 years'",
		"'1 mon -30 days'",
		"'5900000 years -2147483640 days 5 hours'", "'-71582788 months 2147483640 days'")
}

// or returns what is ordinary, where it is ordinary, and else what is hostile.
func or(hostile func() string) func(ordinary string, ok bool) string {
	return func(ordinary string, ok bool) string {
		if ok {
			return ordinary
		}
		return hostile()
	}
}

func (h *hostile) patient(id int64) {
	admitted := or(h.date)(h.usually("'2020-01-01'", "'2020-01-28'", "'2021-01-02'", "'2021-06-15'", "'2021-11-20'"))
	seen := or(h.stamp)(h.usually("'2020-01-01'", "'2020-06-15 12:00'", "'2021-01-15'", "'2021-02-20'",
		"'2021-12-05 10:00'"))
	score := or(func() string { return h.pick("-32768", "32767", "0", "5", "9") })(h.usually("0", "1", "2", "3", "5", "9"))
	ward := or(func() string { return h.pick("NULL", h.ward()) })(h.usually("'icu'", "'er'", "'onc'"))
	note := or(func() string { return h.pick("NULL", h.text()) })(h.usually("'x'", "'high blood pressure'"))
	h.insert("patients", id, h.text(), h.age(), h.money(), h.float(), h.real(), score,
		h.pick("'asthma'", "'cold'", "'flu'", "'plague'"), ward, admitted, seen, h.interval(),
		h.pick("NULL", "true", "false"), h.pick("NULL", "'bad'", "'good'"), h.pick("NULL", "0", "10", "7"), note)
}

// habit is what the visits of a unit have in common, where it is ordinary: from one visit to the next each value takes
// a step, if any.
type habit struct {
	visits, labs       int // labs are those of a visit
	date, stamp        string
	cost, minutes      int
	days, hours, steps int // steps are in cost and in minutes
	first, ward        int // the place of the first ward, and the step to the next one
	urgent             int
	kinds              []string // of labs
}

// habits are those of a unit with up to ten times the visits that the policy lets it have. Few are needed to find it in
// as many groups as it may be in.
func (h *hostile) habits() habit {
	v := habit{
		visits: h.choose(0, 1, 9, 40), labs: h.choose(0, 1, 1, 2, 12),
		date:  h.pick("2020-01-01", "2020-01-01", "2020-02-10", "2021-01-01", "2021-11-25"),
		days:  h.choose(0, 0, 1, 1, 7, 31, 31),
		stamp: h.pick("2020-01-01", "2020-03-08 07:00", "2021-01-15", "2021-12-01 10:00"),
		hours: h.choose(0, 1, 24, 168, 744),
		cost:  h.choose(12, 12, 700, 1400), minutes: h.choose(5, 5, 25, 45), steps: h.choose(0, 1, 10, 10),
		first: h.random.IntN(3), ward: h.choose(0, 1, 1), urgent: h.choose(0, 1),
		kinds: []string{"'a'", "'b'", "'c'"},
	}
	if h.ordinary {
		v.visits = h.choose(1, 2, 3, 4, 4, 12, 12)
	}
	return v
}

// lone are habits of one of two units that share no group: one that has no more rows than it may have, and one that has
// three times as many.
func lone(few bool) habit {
	if few {
		return habit{
			visits: 4, labs: 2, cost: 12, minutes: 5, steps: 1, date: "2020-01-01", stamp: "2020-01-01",
			kinds: []string{"'a'"},
		}
	}
	return habit{
		visits: 12, labs: 2, cost: 1990, minutes: 60, steps: -1, date: "2021-02-03", stamp: "2021-02-03 04:00",
		first: 1, kinds: []string{"'b'"},
	}
}

func (h *hostile) visits(id int64, v habit, withLabs bool) {
	minutes := func() string {
		return h.pick("0", "60", "-10", "5", "30", "-2147483648", "2147483647", strconv.Itoa(h.random.IntN(60)),
			strconv.Itoa(-h.random.IntN(10)))
	}
	labs := 60 // of a unit: a product of all rows is small
	if !withLabs {
		labs = 0
	}
	for i := range v.visits {
		h.visit++
		h.insert("visits", h.visit, h.unit(id),
			or(h.ward)(h.usually([]string{"'icu'", "'er'", "'onc'"}[(v.first+i*v.ward)%3])),
			or(h.date)(h.usually(fmt.Sprintf("date '%s' + %d", v.date, i*v.days))),
			or(h.money)(h.usually(fmt.Sprintf("%d.34", v.cost+40*i*v.steps))),
			or(minutes)(h.usually(strconv.Itoa(v.minutes+i*v.steps))),
			or(h.stamp)(h.usually(fmt.Sprintf("timestamp '%s' + interval '%d hours'", v.stamp, i*v.hours))),
			or(h.flag)(h.usually(strconv.FormatBool((v.first+i*v.urgent)%2 == 0))))
		if !h.ordinary {
			v.labs = h.choose(0, 0, 1, 12)
		}
		for range min(labs, v.labs) {
			h.lab, labs = h.lab+1, labs-1
			h.insert("lab_results", h.lab, h.visit+h.random.IntN(2), h.pick(v.kinds...), h.float())
		}
	}
}

func (h *hostile) flag() string { return h.pick("true", "false") }

// unit is that of most rows of a unit; some have none.
func (h *hostile) unit(id int64) string {
	if h.random.IntN(10) == 0 {
		return "NULL"
	}
	return strconv.FormatInt(id, 10)
}
