package rewrite_test

import (
	"fmt"
	"strings"
)

// shape is a family of statements that grow with n.
type shape struct {
	name string
	text func(n int) string
}

// times joins n parts, each made of its number.
func times(n int, between string, part func(i int) string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = part(i)
	}
	return strings.Join(parts, between)
}

// line is times with the number put into a form, wherever it has %[1]d.
func line(n int, between, form string) string {
	return times(n, between, func(i int) string {
		if !strings.Contains(form, "%") {
			return form
		}
		return fmt.Sprintf(form, i)
	})
}

// shapes are statements that grow in one respect each: whatever a planning compares with each other, there are many of
// it.
var shapes = []shape{
	{"branches of a scan", func(n int) string {
		return "SELECT count(*) FROM (" + line(n, " UNION ALL ", "SELECT id FROM patients WHERE age = %[1]d") + ") x"
	}},
	{"equal branches", func(n int) string {
		return "SELECT count(*) FROM (" + line(n, " UNION ALL ", "SELECT id FROM patients") + ") x"
	}},
	{"branches of many conditions", func(n int) string {
		return "SELECT count(*) FROM (" + line(n, " UNION ALL ",
			"SELECT id FROM patients WHERE age > %[1]d AND score = %[1]d AND diagnosis = 'd%[1]d' AND ward IN ('a', 'b')") +
			") x"
	}},
	{"branches of joins", func(n int) string {
		return "SELECT count(*) FROM (" + line(n, " UNION ALL ",
			"SELECT p.id FROM patients p JOIN visits v ON v.patient_id = p.id WHERE p.age = %[1]d") + ") x"
	}},
	{"branches to the right", func(n int) string {
		n = min(n, 60)
		return "SELECT count(*) FROM (" + line(n, " UNION ALL (", "SELECT id FROM patients WHERE age = %[1]d") +
			strings.Repeat(")", n-1) + ") x"
	}},
	{"distinct branches", func(n int) string {
		return "SELECT count(*) FROM (" + line(n, " UNION ", "SELECT id FROM patients WHERE age = %[1]d") + ") x"
	}},
	{"intersected branches", func(n int) string {
		return "SELECT count(*) FROM (" + line(n, " INTERSECT ", "SELECT id FROM patients WHERE age > %[1]d") + ") x"
	}},
	{"constant branches", func(n int) string {
		return "SELECT count(*) FROM patients p JOIN (" + line(n, " UNION ALL ", "SELECT %[1]d AS a") + ") x ON x.a = p.age"
	}},
	{"blocks of a union", func(n int) string {
		return line(n, " UNION ALL ",
			"SELECT count(*) FROM patients WHERE age = %[1]d")
	}},
	{"equal blocks", func(n int) string { return line(n, " UNION ALL ", "SELECT count(*) FROM patients") }},
	{"blocks of groups", func(n int) string {
		return line(n, " UNION ALL ", "SELECT ward, count(*), avg(age) FROM patients WHERE age > %[1]d GROUP BY 1")
	}},
	{"scalar blocks", func(n int) string {
		return "SELECT " + line(n, ", ", "(SELECT count(*) FROM patients WHERE age = %[1]d)")
	}},
	{"percentiles of an array", func(n int) string {
		return "SELECT percentile_cont(ARRAY[" + line(n, ",", "0.%04[1]d") + "]) WITHIN GROUP (ORDER BY age) FROM patients"
	}},
	{"equal percentiles", func(n int) string {
		return "SELECT percentile_cont(ARRAY[" + line(n, ",", "0.5") + "]) WITHIN GROUP (ORDER BY age) FROM patients"
	}},
	{"percentiles", func(n int) string {
		return "SELECT " + line(n, ", ", "percentile_cont(0.%04[1]d) WITHIN GROUP (ORDER BY age)") + " FROM patients"
	}},
	{"percentiles of arguments", func(n int) string {
		return "SELECT " + line(n, ", ", "percentile_cont(0.5) WITHIN GROUP (ORDER BY age+%[1]d)") + " FROM patients"
	}},
	{"percentiles of groups", func(n int) string {
		return "SELECT ward, " + line(n, ", ", "percentile_cont(0.5) WITHIN GROUP (ORDER BY age+%[1]d)") +
			" FROM patients GROUP BY ward"
	}},
	{"extremes", func(n int) string { return "SELECT " + line(n, ", ", "max(age+%[1]d)") + " FROM patients" }},
	{"counts", func(n int) string { return "SELECT " + line(n, ", ", "count(*)") + " FROM patients" }},
	{"filters", func(n int) string {
		return "SELECT " + line(n, ", ", "count(*) FILTER (WHERE age=%[1]d)") + " FROM patients"
	}},
	{"filters of rows", func(n int) string {
		return "SELECT " + line(n, ", ", "count(*) FILTER (WHERE minutes=%[1]d)") + " FROM visits"
	}},
	{"filtered averages", func(n int) string {
		return "SELECT " + line(n, ", ", "avg(income) FILTER (WHERE age=%[1]d)") + " FROM patients"
	}},
	{"sums", func(n int) string { return "SELECT " + line(n, ", ", "sum(age+%[1]d)") + " FROM patients" }},
	{"sums of rows", func(n int) string { return "SELECT " + line(n, ", ", "sum(minutes+%[1]d)") + " FROM visits" }},
	{"averages", func(n int) string { return "SELECT " + line(n, ", ", "avg(age+%[1]d)") + " FROM patients" }},
	{"moments", func(n int) string { return "SELECT " + line(n, ", ", "stddev(age+%[1]d)") + " FROM patients" }},
	{"pairs", func(n int) string { return "SELECT " + line(n, ", ", "corr(age,score+%[1]d)") + " FROM patients" }},
	{"distinct counts", func(n int) string {
		return "SELECT " + line(n, ", ", "count(DISTINCT ward) FILTER (WHERE age=%[1]d)") +
			" FROM visits JOIN patients ON patient_id = id"
	}},
	{"pivots", func(n int) string {
		return "SELECT " + line(n, ", ", "sum(CASE WHEN age=%[1]d THEN 1 ELSE 0 END)") + " FROM patients"
	}},
	{"modes", func(n int) string {
		return "SELECT " + line(n, ", ", "mode() WITHIN GROUP (ORDER BY ward) FILTER (WHERE age>%[1]d)") + " FROM patients"
	}},
	{"bools", func(n int) string { return "SELECT " + line(n, ", ", "bool_or(age=%[1]d)") + " FROM patients" }},
	{"CASE arms", func(n int) string {
		return "SELECT sum(CASE " + line(n, " ", "WHEN age=%[1]d THEN %[1]d") + " ELSE 0 END) FROM patients"
	}},
	{"CASE arms of an operand", func(n int) string {
		return "SELECT sum(CASE age " + line(n, " ", "WHEN %[1]d THEN %[1]d") + " END) FROM patients"
	}},
	{"CASE arms that group", func(n int) string {
		return "SELECT CASE " + line(n, " ", "WHEN age<%[1]d THEN 'a%[1]d'") +
			" ELSE 'z' END, count(*) FROM patients GROUP BY 1"
	}},
	{"nested CASE", func(n int) string {
		n = min(n, 110)
		return "SELECT sum(" + line(n, "", "CASE WHEN age=%[1]d THEN 1 ELSE ") + "0" + strings.Repeat(" END", n) +
			") FROM patients"
	}},
	{"IN list", func(n int) string {
		return "SELECT count(*) FROM patients WHERE age IN (" + line(n, ",", "%[1]d") + ")"
	}},
	{"IN list of text", func(n int) string {
		return "SELECT count(*) FROM patients WHERE diagnosis IN (" + line(n, ",", "'d%[1]d'") + ")"
	}},
	{"IN lists", func(n int) string {
		return "SELECT count(*) FROM patients WHERE " + line(n, " AND ", "age NOT IN (%[1]d,1,2)")
	}},
	{"IN list of rows", func(n int) string {
		return "SELECT count(*) FROM patients WHERE (age, score) IN (" + line(n, ",", "(%[1]d,1)") + ")"
	}},
	{"grouped IN list", func(n int) string {
		return "SELECT ward, count(*) FROM patients WHERE ward IN (" + line(n, ",", "'w%[1]d'") + ") GROUP BY ward"
	}},
	{"ANY of an array", func(n int) string {
		return "SELECT count(*) FROM patients WHERE age = ANY(ARRAY[" + line(n, ",", "%[1]d") + "])"
	}},
	{"alternatives", func(n int) string { return "SELECT count(*) FROM patients WHERE " + line(n, " OR ", "age=%[1]d") }},
	{"alternatives of text", func(n int) string {
		return "SELECT count(*) FROM patients WHERE " + line(n, " OR ", "diagnosis='d%[1]d'")
	}},
	{"conditions", func(n int) string { return "SELECT count(*) FROM patients WHERE " + line(n, " AND ", "age<>%[1]d") }},
	{"alternatives of conditions", func(n int) string {
		return "SELECT count(*) FROM patients WHERE " + line(n, " AND ", "(age=%[1]d OR score=%[1]d)")
	}},
	{"terms", func(n int) string { return "SELECT sum(" + line(n, "+", "age") + ") FROM patients" }},
	{"nested functions", func(n int) string {
		n = min(n, 120)
		return "SELECT sum(" + strings.Repeat("abs(", n) + "age" + strings.Repeat(")", n) + ") FROM patients"
	}},
	{"arguments of a function", func(n int) string {
		return "SELECT sum(greatest(" + line(n, ",", "age+%[1]d") +
			")) FROM patients"
	}},
	{"joins", func(n int) string {
		return "SELECT count(*) FROM patients p0" + times(n, "", func(i int) string {
			return fmt.Sprintf(" JOIN patients p%d ON p%d.id = p%d.id", i+1, i+1, i)
		})
	}},
	{"joins on the first", func(n int) string {
		return "SELECT count(*) FROM patients p" + line(n, "", " JOIN profiles q%[1]d ON q%[1]d.patient_id = p.id")
	}},
	{"joins of public tables", func(n int) string {
		return "SELECT count(*) FROM patients p" + line(n, "", " JOIN wards w%[1]d ON w%[1]d.ward = p.ward")
	}},
	{"left joins", func(n int) string {
		return "SELECT count(*) FROM patients p" + line(n, "", " LEFT JOIN profiles q%[1]d ON q%[1]d.patient_id = p.id")
	}},
	{"USING joins", func(n int) string {
		return "SELECT count(*) FROM visits v" + line(n, "", " JOIN profiles q%[1]d USING (patient_id)")
	}},
	{"comma joins", func(n int) string {
		return "SELECT count(*) FROM patients p, " + line(n, ", ", "profiles q%[1]d") + " WHERE " +
			line(n, " AND ", "q%[1]d.patient_id=p.id")
	}},
	{"CTE levels", func(n int) string {
		return "WITH c0 AS (SELECT * FROM patients)" + times(n, "", func(i int) string {
			return fmt.Sprintf(", c%d AS (SELECT * FROM c%d WHERE age <> %d)", i+1, i, i)
		}) + fmt.Sprintf(" SELECT count(*) FROM c%d", n)
	}},
	{"CTEs read twice", func(n int) string {
		n = min(n, 40)
		return "WITH c0 AS (SELECT id FROM patients)" + times(n, "", func(i int) string {
			return fmt.Sprintf(", c%d AS (SELECT id FROM c%d UNION ALL SELECT id FROM c%d)", i+1, i, i)
		}) + fmt.Sprintf(" SELECT count(*) FROM c%d", n)
	}},
	{"CTEs of aggregates", func(n int) string {
		return "WITH " + line(n, ", ", "c%[1]d AS (SELECT count(*) n FROM patients WHERE age=%[1]d)") + " SELECT " +
			line(n, "+", "c%[1]d.n") + " FROM " + line(n, ", ", "c%[1]d")
	}},
	{"CTE levels of groups", func(n int) string {
		return "WITH c0 AS (SELECT patient_id, ward, count(*) n FROM visits GROUP BY 1, 2)" +
			times(n, "", func(i int) string {
				return fmt.Sprintf(", c%d AS (SELECT patient_id, ward, sum(n) n FROM c%d GROUP BY 1, 2)", i+1, i)
			}) + fmt.Sprintf(" SELECT count(*) FROM c%d", n)
	}},
	{"subquery levels", func(n int) string {
		n = min(n, 60)
		return "SELECT count(*) FROM " + strings.Repeat("(SELECT * FROM ", n) + "patients" + line(n, "", ") x%[1]d")
	}},
	{"EXISTS", func(n int) string {
		return "SELECT count(*) FROM patients p WHERE " +
			line(n, " AND ", "EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.id AND v.minutes = %[1]d)")
	}},
	{"EXISTS alternatives", func(n int) string {
		return "SELECT count(*) FROM patients p WHERE " +
			line(n, " OR ", "EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.id AND v.minutes = %[1]d)")
	}},
	{"correlated counts", func(n int) string {
		return "SELECT " +
			line(n, ", ", "sum((SELECT count(*) FROM visits v WHERE v.patient_id = p.id AND v.minutes > %[1]d))") +
			" FROM patients p"
	}},
	{"stages", func(n int) string {
		return "SELECT count(*) FROM patients WHERE " + line(
			n, " AND ", "age > (SELECT avg(age) FROM patients WHERE score > %[1]d)")
	}},
	{"grouping sets", func(n int) string {
		return "SELECT count(*) FROM patients GROUP BY GROUPING SETS (" + line(n, ", ", "(ward)") + ")"
	}},
	{"grouping sets of parts", func(n int) string {
		return "SELECT count(*) FROM patients GROUP BY GROUPING SETS (" + line(n, ", ", "(ward, smoker, age > %[1]d)") + ")"
	}},
	{"rollup", func(n int) string {
		return "SELECT count(*) FROM patients GROUP BY ROLLUP (" + line(n, ", ", "(age > %[1]d)") + ")"
	}},
	{"cube", func(n int) string {
		return "SELECT count(*) FROM patients GROUP BY CUBE (" + line(min(n, 12), ", ", "(age > %[1]d)") + ")"
	}},
	{"cubes", func(n int) string {
		return "SELECT count(*) FROM patients GROUP BY " + line(n, ", ", "CUBE (ward, smoker, mood, (age > %[1]d))")
	}},
	{"group keys", func(n int) string {
		return "SELECT count(*) FROM patients GROUP BY " + line(n, ", ", "(age > %[1]d)")
	}},
	{"equal group keys", func(n int) string { return "SELECT count(*) FROM patients GROUP BY " + line(n, ", ", "ward") }},
	{"windows of rows", func(n int) string {
		return "SELECT sum(" + line(n, "+", "w%[1]d") + ") FROM (SELECT " +
			line(n, ", ", "row_number() OVER (PARTITION BY patient_id ORDER BY visited, visit_id+%[1]d) w%[1]d") +
			" FROM visits) x"
	}},
	{"windows of groups", func(n int) string {
		return "SELECT ward, " + line(n, ", ", "sum(count(*)) OVER (ORDER BY ward ROWS %[1]d PRECEDING)") +
			" FROM patients GROUP BY ward"
	}},
	{"named windows", func(n int) string {
		return "SELECT ward, " + line(n, ", ", "sum(count(*)) OVER w%[1]d") + " FROM patients GROUP BY ward WINDOW " +
			line(n, ", ", "w%[1]d AS (ORDER BY ward ROWS %[1]d PRECEDING)")
	}},
	{"HAVING", func(n int) string {
		return "SELECT ward FROM patients GROUP BY ward HAVING " + line(n, " OR ", "count(*) > %[1]d")
	}},
	{"expressions above", func(n int) string {
		return "SELECT " + line(n, "+", "count(*)") + " FROM patients"
	}},
	{"conditions above", func(n int) string {
		return "SELECT " + line(n, " OR ", "(count(*) = %[1]d) IS NULL") + " FROM patients"
	}},
	{"columns above", func(n int) string {
		return "SELECT " + line(n, ", ", "n+%[1]d AS c%[1]d") + " FROM (SELECT count(*) AS n FROM patients) x"
	}},
	{"columns below", func(n int) string {
		return "SELECT " + line(n, ", ", "sum(c%[1]d)") + " FROM (SELECT " + line(n, ", ", "age+%[1]d AS c%[1]d") +
			" FROM patients) x"
	}},
	{"order", func(n int) string {
		return "SELECT ward, count(*) FROM patients GROUP BY ward ORDER BY " + line(n, ", ", "count(*)+%[1]d")
	}},
	{"VALUES", func(n int) string {
		return "SELECT count(*) FROM patients p JOIN (VALUES " + line(n, ", ", "(%[1]d,'x%[1]d')") +
			") v(a, b) ON v.a = p.age"
	}},
	{"grouped VALUES", func(n int) string {
		return "SELECT v.b, count(*) FROM patients p JOIN (VALUES " + line(n, ", ", "(%[1]d,'x%[1]d')") +
			") v(a, b) ON v.a = p.age GROUP BY v.b"
	}},
	{"LIKE patterns", func(n int) string {
		return "SELECT count(*) FROM patients WHERE " + line(n, " OR ", "diagnosis LIKE '%%d%[1]d%%'")
	}},
	{"a long pattern", func(n int) string {
		return "SELECT count(*) FROM patients WHERE diagnosis LIKE '" + strings.Repeat("%a_", n) + "'"
	}},
	{"a long literal", func(n int) string {
		return "SELECT count(*) FROM patients WHERE diagnosis = '" + line(n, "", "abcdefgh") + "'"
	}},
	{"casts", func(n int) string { return "SELECT sum(age" + line(n, "", "::int8::int4") + ") FROM patients" }},
	{"NOT", func(n int) string { return "SELECT count(*) FROM patients WHERE " + line(n, "", "NOT ") + "smoker" }},
	{"COALESCE", func(n int) string {
		return "SELECT sum(coalesce(" + line(n, ",", "nullif(age,%[1]d)") + ")) FROM patients"
	}},
	{"concatenation", func(n int) string {
		return "SELECT count(*) FROM patients WHERE " + line(n, "||", "diagnosis") + " = 'x'"
	}},
	{"whole rows", func(n int) string {
		return "SELECT count(*) FROM (SELECT " + line(n, ", ", "p.*") + " FROM patients p) x"
	}},
	{"views", func(n int) string {
		return "SELECT count(*) FROM (" + line(n, " UNION ALL ", "SELECT id FROM visit_costs") + ") x"
	}},
	{"joined views", func(n int) string {
		return "SELECT count(*) FROM visit_costs c" + line(n, "", " JOIN patients q%[1]d ON q%[1]d.id = c.id")
	}},
	{"anti-joins", func(n int) string {
		return "SELECT count(*) FROM patients p WHERE " +
			line(n, " AND ", "p.id NOT IN (SELECT patient_id FROM profiles WHERE height = %[1]d)")
	}},
	{"public subqueries", func(n int) string {
		return "SELECT count(*) FROM patients p WHERE " +
			line(n, " AND ", "ward IN (SELECT ward FROM wards WHERE beds > %[1]d)")
	}},
	{"conditions above items", func(n int) string {
		return "SELECT count(*) FROM " + line(n, ", ", "(SELECT id,age+1 AS y,age FROM patients) x%[1]d") + " WHERE " +
			line(n, " AND ", "x%[1]d.id=x0.id AND x%[1]d.age>%[1]d")
	}},
	{"conditions above one item", func(n int) string {
		return "SELECT count(*) FROM (SELECT age+1 AS y," + line(n, ",", "age c%[1]d") + " FROM patients) x, wards w WHERE " +
			line(n, " AND ", "x.c%[1]d>0")
	}},
	{"lateral items", func(n int) string {
		return "SELECT count(*) FROM patients p" + line(n, "", ", LATERAL (SELECT p.age+%[1]d AS a) l%[1]d")
	}},
}

// largest is the shape with as many parts as a text of so many bytes has.
func (s shape) largest(bytes int) string {
	low, high := 1, bytes
	for high-low > 1 {
		if middle := (low + high) / 2; len(s.text(middle)) <= bytes {
			low = middle
		} else {
			high = middle
		}
	}
	return s.text(low)
}
