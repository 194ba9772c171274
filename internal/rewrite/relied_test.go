package rewrite_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// relied lists the columns whose shapes main has to prove, by table.
func relied(p *rewrite.Plan) map[policy.Name][]string {
	out := map[policy.Name][]string{}
	for _, f := range p.Proofs {
		if f.Shape != "" {
			out[f.Relation] = f.Columns
		}
	}
	return out
}

// TestReliesOn: a plan relies on the columns that it reads, those of the indexes that bound it, and those that a fact
// has taken out of it.
func TestReliesOn(t *testing.T) {
	for sql, want := range map[string]string{
		"SELECT count(*) FROM patients":                                                                                          "patients: id",
		"SELECT count(score) FROM patients -- never NULL, so it is count(*)":                                                     "patients: id score",
		"SELECT count(*) FROM patients WHERE score IS NOT NULL":                                                                  "patients: id score",
		"SELECT avg(age) FROM (SELECT * FROM patients) p":                                                                        "patients: id age",
		"SELECT avg(a) FROM patients AS p (i, n, a)":                                                                             "patients: id age",
		"SELECT sum(minutes) FROM visits":                                                                                        "visits: visit_id patient_id minutes",
		"SELECT sum(minutes) FROM visit_costs -- a view that names more":                                                         "patients: id diagnosis; visits: visit_id patient_id cost minutes",
		"SELECT sum(v.minutes) FROM patients p NATURAL JOIN (SELECT patient_id AS id, minutes FROM visits) v":                    "patients: id; visits: visit_id patient_id minutes",
		"SELECT count(*) FROM lab_results":                                                                                       "lab_results: lab_id visit_id; visits: visit_id patient_id",
		"SELECT w.name, count(*) FROM patients p JOIN wards w ON w.ward = p.ward GROUP BY w.name":                                "patients: id ward; wards: ward name",
		"SELECT count(*) FROM wards w LEFT JOIN patients p ON p.ward = w.ward AND p.age > 9 WHERE p.score IS NULL -- NOT EXISTS": "patients: id age score ward; wards: ward",
	} {
		q, err := theWorld.ask(sql, nil)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		var got []string
		for table, columns := range relied(q.plan) {
			got = append(got, table.Relation+": "+strings.Join(columns, " "))
		}
		slices.Sort(got)
		if got := strings.Join(got, "; "); got != want {
			t.Errorf("%s\nrelies on %s\nwant      %s", sql, got, want)
		}
	}
}

// TestNothingElseIsReliedOn: whatever becomes of the columns that a plan does not rely on, the statement is planned the
// same.
func TestNothingElseIsReliedOn(t *testing.T) {
	w := theWorld.then()
	plans := 0
	for _, c := range corpus(t) {
		q, err := w.ask(c.sql, parameters(c.params))
		if err != nil || q.plan == nil || !slices.ContainsFunc(q.plan.Blocks, func(k rewrite.Block) bool {
			return k.Measure.Text != "" || len(k.Histograms) > 0
		}) {
			continue // nothing is measured
		}
		plans++
		changed := w.then()
		changed.schema = changedBut(w.schema, relied(q.plan))
		again, err := changed.ask(c.sql, parameters(c.params))
		if err != nil || again.plan == nil || again.plan.Fingerprint != q.plan.Fingerprint {
			t.Errorf("%s\nis planned otherwise, by columns that it does not rely on: %v", c.sql, err)
		}
	}
	if plans < 500 {
		t.Errorf("only %d plans", plans)
	}
	t.Logf("%d plans", plans)
}

// changedBut is a schema with other columns, of other types and nullability, but for those listed of the tables listed.
func changedBut(s *rewrite.Schema, but map[policy.Name][]string) *rewrite.Schema {
	out := *s
	out.Relations = map[policy.Name]*rewrite.Relation{}
	for name, r := range s.Relations {
		other := *r
		other.Columns = slices.Clone(r.Columns)
		for i := range other.Columns {
			if c := &other.Columns[i]; but[name] != nil && !slices.Contains(but[name], c.Name) {
				c.NotNull, c.Filled, c.Type, c.Typmod, c.TypeName, c.Collation = !c.NotNull, false, pgtype.JSONOID, -1, "json", ""
			}
		}
		out.Relations[name] = &other
	}
	return &out
}
