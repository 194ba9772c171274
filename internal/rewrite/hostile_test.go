package rewrite_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// hostileUnits is the number of units of a hostile database; one more has visits but no patient.
const hostileUnits = 4

// hostile is the SQL of a small database whose rows break every promise that the schema does not enforce.
func hostile(random *rand.Rand) string {
	pick := func(v ...string) string { return v[random.IntN(len(v))] }
	age := func() string {
		return pick("NULL", "0", "120", "30", "31", "65", "-2147483648", "2147483647", "-1", "121")
	}
	money := func() string {
		return pick("NULL", "'NaN'", "0", "99999999.99", "-99999999.99", "100.005", "1999.995", "12.34")
	}
	float := func() string {
		return pick("NULL", "'NaN'", "'Infinity'", "'-Infinity'", "1e308", "-1e308", "5e-324", "-0.0", "70.5", "99.99")
	}
	real := func() string { return pick("NULL", "'NaN'", "'Infinity'", "3e38", "-3e38", "1e-45", "1.75") }
	text := func() string {
		return pick("''", "'Bob'", "'Ann'", "'A%_\\'", "repeat('x', 300)", "E'\\x01\\n'", "'é'")
	}
	ward := func() string { return pick("'icu'", "'er'", "'onc'", "'nowhere'", "''") }
	date := func() string {
		return pick("'2020-01-01'", "'2021-12-31'", "'2020-06-15'", "'infinity'", "'-infinity'", "'4713-01-01 BC'", "'5874897-12-31'")
	}
	stamp := func() string {
		return pick("NULL", "'2020-01-01'", "'2021-06-01 23:59:59.999999'", "'infinity'", "'-infinity'", "'4713-01-01 BC'", "'294276-12-31 23:59:59.999999'")
	}
	var b strings.Builder
	b.WriteString("TRUNCATE patients, visits, lab_results, profiles, staff;\n")
	visit, lab := 0, 0
	for id := 1; id <= hostileUnits+1; id++ {
		if id <= hostileUnits {
			fmt.Fprintf(&b, "INSERT INTO patients VALUES (%d, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s);\n", id, text(), age(), money(), float(), real(),
				pick("-32768", "32767", "0", "5", "9"), pick("'asthma'", "'cold'", "'flu'", "'plague'"), pick("NULL", ward()), date(), stamp(),
				pick("NULL", "'0'", "'29 days 23:59:59.9'", "'-178000000 years'", "'178000000 years'", "'1 mon -30 days'", "'5900000 years -2147483640 days 5 hours'", "'-71582788 months 2147483640 days'"), pick("NULL", "true", "false"),
				pick("NULL", "'bad'", "'good'"), pick("NULL", "0", "10", "7"), pick("NULL", text()))
		}
		for range choose(random, 0, 1, 4, 9, 30) {
			visit++
			unit := strconv.Itoa(id)
			if random.IntN(10) == 0 {
				unit = "NULL"
			}
			fmt.Fprintf(&b, "INSERT INTO visits VALUES (%d, %s, %s, %s, %s, %s, %s, %s);\n", visit, unit, ward(), date(), money(), minutes(random), stamp(), pick("true", "false"))
			for range choose(random, 0, 0, 1, 12) {
				lab++
				fmt.Fprintf(&b, "INSERT INTO lab_results VALUES (%d, %d, %s, %s);\n", lab, visit+random.IntN(2), pick("'a'", "'b'", "'c'"), float())
			}
		}
		if random.IntN(3) > 0 {
			fmt.Fprintf(&b, "INSERT INTO profiles VALUES (%d, %s, %s);\n", id, text(), pick("0", "-2147483648", "180", "2147483647"))
		}
		fmt.Fprintf(&b, "INSERT INTO staff VALUES (%d, %s, %s);\n", id, ward(), pick("0", "100", "50", "2147483647", "-2147483648"))
	}
	return b.String()
}

func minutes(random *rand.Rand) string {
	return []string{"0", "60", "-10", "5", "30", "-2147483648", "2147483647"}[random.IntN(7)]
}

func choose(random *rand.Rand, n ...int) int { return n[random.IntN(len(n))] }
