package rewrite_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// large is the world with a public table of so many rows, and so many visits of a patient.
func (w *world) large(wards, visits int) *world {
	rules := *w.policy
	rules.Tables = slices.Clone(rules.Tables)
	for i, t := range rules.Tables {
		if t.Name.Relation == "visits" {
			grown := *t
			grown.MaxRowsPerUnit = visits
			rules.Tables[i] = &grown
		}
	}
	schema := *w.schema
	schema.Policy, schema.Relations = &rules, maps.Clone(schema.Relations)
	name := policy.Name{Schema: "public", Relation: "wards"}
	grown := *schema.Relations[name]
	grown.Rows, grown.Columns = int64(wards), slices.Clone(grown.Columns)
	for i := range grown.Columns {
		grown.Columns[i].Width = 10
	}
	schema.Relations[name] = &grown
	return &world{policy: &rules, backend: w.backend, schema: &schema, main: w.main}
}

// TestWorkOfLargeTables: ordinary statements over large tables are answered; what multiplies their rows is refused.
func TestWorkOfLargeTables(t *testing.T) {
	ladder := "CASE" + strings.Repeat(" WHEN v.minutes < 5 AND v.ward LIKE '%c%' THEN 1 WHEN v.cost > 100 THEN 2", 20) +
		" ELSE 3 END"
	for _, c := range []struct {
		wards, visits int
		sql           string
		code          string // empty: answered
	}{
		{1, 1000000, "SELECT ward, count(*), avg(cost) FROM visits WHERE visited > '2020-05-05' GROUP BY ward", ""},
		{
			5000000, 700,
			"SELECT w.beds, count(*), sum(v.cost) FROM visits v JOIN wards w ON w.ward = v.ward WHERE w.beds IN (8, 12, 20) AND w.name LIKE 'E%' GROUP BY 1", "",
		},
		{5000000, 1, "SELECT count(*) FROM patients WHERE ward IN (SELECT ward FROM wards WHERE beds > 10)", ""},
		// too many for a hash table
		{
			200000, 700, "SELECT count(*) FROM visits WHERE ward IN (SELECT ward FROM wards WHERE beds > 10)",
			pgerr.StatementTooComplex,
		},
		{30000, 700, "SELECT count(*) FROM visits WHERE ward IN (SELECT ward FROM wards WHERE beds > 10)", ""},
		{
			5000000, 700,
			"SELECT count(*) FROM visits v WHERE EXISTS (SELECT FROM wards w WHERE w.ward = v.ward AND w.beds > 10)", "",
		},
		{
			50000, 700, "SELECT count(*) FROM visits v WHERE EXISTS (SELECT FROM wards w WHERE w.beds = v.minutes)",
			pgerr.StatementTooComplex,
		},
		{
			1, 700,
			"SELECT count(*) FROM visits v WHERE EXISTS (SELECT FROM visits o WHERE o.patient_id = v.patient_id AND o.minutes <> v.minutes)", "",
		},
		{
			1, 5000,
			"SELECT count(*) FROM visits v WHERE EXISTS (SELECT FROM visits o WHERE o.patient_id = v.patient_id AND o.minutes <> v.minutes)", pgerr.StatementTooComplex,
		},
		{1, 100, "SELECT " + ladder + " AS k, count(*) FROM visits v GROUP BY 1", ""},
		{
			1, 700,
			"SELECT count(*) FROM (SELECT patient_id, row_number() OVER (PARTITION BY patient_id ORDER BY visited) n, lag(cost) OVER (PARTITION BY patient_id ORDER BY visited) l," +
				" avg(cost) OVER (PARTITION BY patient_id ORDER BY visited ROWS BETWEEN 7 PRECEDING AND CURRENT ROW) a, sum(minutes) OVER (PARTITION BY patient_id) s FROM visits) x WHERE n > 1 AND l < a", "",
		},
		{1, 700, "SELECT count(*) FROM visits WHERE minutes IN (0" + strings.Repeat(", 7", 3000) + ")", ""},
		{1, 700, "SELECT g, count(*) FROM visits v JOIN generate_series(1, 500) g ON g = v.minutes GROUP BY g", ""},
	} {
		_, err := theWorld.large(c.wards, c.visits).ask(c.sql, nil)
		if text := ""; err != nil {
			if text = refusalText(err); c.code == "" || !strings.HasPrefix(text, "refused "+c.code) {
				t.Errorf("%d wards, %d visits: %.200s\n%s", c.wards, c.visits, c.sql, text)
			}
		} else if c.code != "" {
			t.Errorf("%d wards, %d visits: answered: %.200s", c.wards, c.visits, c.sql)
		}
	}
}

// TestWorkIsCountedWherever: subqueries count in whatever clause they stand. Each of the two would do alone.
func TestWorkIsCountedWherever(t *testing.T) {
	one := "EXISTS (SELECT FROM generate_series(1, 450) a(x), generate_series(1, 300) b(y) WHERE a.x + b.y = p.score)"
	heavy := "(" + one + " AND " + strings.ReplaceAll(one, "=", ">") + ")"
	if _, err := theWorld.ask("SELECT count(*) FROM patients p WHERE "+one, nil); err != nil {
		t.Fatal(refusalText(err))
	}
	for _, sql := range []string{
		"SELECT count(*) FROM patients p WHERE " + heavy,
		"SELECT count(*) FILTER (WHERE " + heavy + ") FROM patients p",
		"SELECT sum(CASE WHEN " + heavy + " THEN p.age END) FROM patients p",
		"SELECT " + heavy + " AS k, count(*) FROM patients p GROUP BY 1",
		"SELECT count(*) FROM patients p JOIN visits v ON v.patient_id = p.id AND " + heavy,
		"SELECT count(*) FROM patients p LEFT JOIN visits v ON v.patient_id = p.id AND " + heavy,
		"SELECT count(*) FROM (SELECT " + heavy + " AS k FROM patients p) p WHERE k",
		"SELECT count(*) FROM (SELECT p.id, count(*) FILTER (WHERE " + heavy +
			") AS n FROM patients p GROUP BY p.id) s WHERE n > 0",
		"SELECT count(*) FROM (SELECT p.id, row_number() OVER (PARTITION BY p.id ORDER BY " + heavy +
			") AS n FROM patients p) s WHERE n > 1",
		"SELECT count(*) FROM (SELECT DISTINCT ON (p.id) p.id, p.score FROM patients p ORDER BY p.id, " + heavy +
			") s WHERE score > 1",
		"SELECT count(*) FROM (SELECT DISTINCT p.id, " + heavy + " AS k FROM patients p) s WHERE k",
		"SELECT count(*) FROM (SELECT p.id, " + heavy +
			" AS k FROM patients p UNION ALL SELECT id, TRUE FROM patients) s WHERE k",
		"SELECT count(*) FROM visits v WHERE EXISTS (SELECT FROM patients p WHERE p.id = v.patient_id AND " + heavy + ")",
		"SELECT count(*) FROM visits v, LATERAL (SELECT p.score FROM patients p WHERE p.id = v.patient_id AND " + heavy +
			") s",
		"SELECT count(*) FROM visits v WHERE (SELECT count(*) FROM patients p WHERE p.id = v.patient_id AND " + heavy +
			") > 0",
		"SELECT w.ward, count(p.id) FROM wards w LEFT JOIN patients p ON p.ward = w.ward AND " + heavy + " GROUP BY 1",
	} {
		if _, err := theWorld.ask(sql, nil); err == nil ||
			!strings.HasPrefix(refusalText(err), "refused "+pgerr.StatementTooComplex) {
			t.Errorf("%s: %v", sql, err)
		}
	}
}
