package policy

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dpproxy/dpproxy/internal/mechanism"
)

const verifierText = "SCRAM-SHA-256$4096:AAECAwQFBgcICQoLDA0ODw==$AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

// small is a policy to which tests add top-level keys, or whose text they change.
const small = `version: 1
databases: {main: postgres://m@db/x, shadow: postgres://s@db/x_shadow}
accounting: {method: rdp, delta: 1e-6}
analysts: {a: {password: "` + verifierText + `", budget: {epsilon: 1}}}
tables:
  t:
    privacy_unit: {name: person, column: id}
    max_rows_per_unit: 1
    columns:
      id: {}
      age: {bounds: [0, 120]}
`

func mustParse(t *testing.T, text string) *Policy {
	t.Helper()
	p, err := Parse("dir/policy.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestContractExample(t *testing.T) {
	p, err := Load("testdata/good/contract.yaml")
	if err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs("testdata/good")
	if err != nil {
		t.Fatal(err)
	}
	grid := &Grid{Number: "1"}
	visits := Name{"public", "visits"}
	private := func(name string, rows int, unit *Unit, columns ...*Column) *Table {
		return &Table{
			Name: Name{"public", name}, Unit: unit, MaxRowsPerUnit: rows, Epsilon: 0.5, EpsilonMax: 1,
			MaxGroupsPerUnit: 1, Columns: columns,
		}
	}
	patients := private("patients", 1, &Unit{Name: "patient", Column: "id"},
		&Column{Name: "id"},
		&Column{Name: "age", Bounds: &Bounds{"0", "120"}},
		&Column{Name: "income", Bounds: &Bounds{"0", "500000"}, Grid: grid},
		&Column{Name: "diagnosis", Values: []string{"asthma", "cold", "flu"}},
		&Column{Name: "ward", ValuesFrom: &ColumnOf{Name{"public", "wards"}, "ward"}},
		&Column{Name: "admitted", Bounds: &Bounds{"2015-01-01", "2026-12-31"}},
		&Column{Name: "name"})
	patients.MaxRows = 1000000
	none, some := 0.0, 0.01
	visited := private("visits", 50, &Unit{Name: "patient", Column: "patient_id"},
		&Column{Name: "visit_id"}, &Column{Name: "patient_id"},
		&Column{Name: "cost", Bounds: &Bounds{"0", "20000"}, PerUnit: &Bounds{"0", "60000"}},
		&Column{Name: "minutes", Bounds: &Bounds{"0", "600"}})
	results := private("lab_results", 200, &Unit{Name: "patient", Via: &Via{"visit_id", visits, "visit_id"}},
		&Column{Name: "visit_id"}, &Column{Name: "value", Bounds: &Bounds{"0", "1000"}})
	visited.LeftOut, results.LeftOut = &some, &none
	want := &Policy{
		File:   "testdata/good/contract.yaml",
		Listen: "127.0.0.1:6432",
		TLS:    &TLS{here + "/server.crt", here + "/server.key", here + "/ca.crt"},
		Databases: Databases{
			Main: "postgres://dpproxy_main@db/clinic", Shadow: "postgres://dpproxy_shadow@db/clinic_shadow",
			Public: "postgres://dpproxy_public@db/clinic", Synthetic: "postgres://dpproxy_shadow@db/clinic_synthetic",
			Unset: map[string]string{
				"admin": "the environment variable DPPROXY_ADMIN_DSN is not set",
			},
		},
		Ledger:         "file:" + here + "/dpproxy.ledger",
		Accounting:     Accounting{Method: RDP, Delta: 1e-6, SelectionDeltaShare: 0.5},
		Defaults:       Defaults{Epsilon: 0.5, EpsilonMax: 1, MaxGroupsPerUnit: 1, EmptyGroups: DropEmptyGroups},
		AnswersTTL:     24 * time.Hour,
		Certify:        Require,
		Failures:       5,
		Timing:         Timing{Steps: 1.25},
		Auth:           Auth{Method: "scram"},
		Budget:         &Budget{Epsilon: 40, Delta: 1e-6},
		Rows:           RefuseRows,
		Synthetic:      &Budget{3, 1e-6, 30 * 24 * time.Hour},
		Metrics:        "127.0.0.1:9187",
		AnalystMetrics: true,
		Log:            Log{Statements: true},
		Limits:         Limits{500, 100, 32768, 256 << 20},
		Pool:           Pool{8, 8, 4, 10 * time.Second},
		Groups:         map[string]Budget{},
		Analysts: map[string]*Analyst{
			"alice": {Name: "alice", Verifier: verifierText, Budget: Budget{10, 1e-6, 30 * 24 * time.Hour}},
			"app":   {Name: "app", Certificate: "app.example", Budget: Budget{Epsilon: 5, Delta: 1e-6}},
		},
		Tables: []*Table{
			patients,
			visited,
			results,
			{Name: Name{"public", "wards"}, Public: true, Epsilon: 0.5, EpsilonMax: 1, MaxGroupsPerUnit: 1},
		},
		Views: []Name{{"public", "visit_costs"}},
	}
	p.Version, p.missing, p.Notes = "", nil, nil // TestGoodFiles has the notes
	if diff := cmp.Diff(want, p, cmp.AllowUnexported(Policy{}), cmpopts.IgnoreTypes(places{})); diff != "" {
		t.Errorf("policy differs (-want +got):\n%s", diff)
	}
}

func TestLiteralsReachPostgreSQLInItsForm(t *testing.T) {
	p, err := Load("testdata/good/literals.yaml")
	if err != nil {
		t.Fatal(err)
	}
	table := p.Table(Name{"clinic", "patients"})
	hour := 3600 * time.Second
	for name, want := range map[string]Column{
		"number": {Bounds: &Bounds{"-1.5", "2000"}, Grid: &Grid{Number: "0.5"}},
		// if it is a timestamp; dates take days
		"date":   {Bounds: &Bounds{"2020-01-01", "2020-12-31"}, Grid: &Grid{Duration: hour}},
		"stamp":  {Bounds: &Bounds{"2020-01-01", "2020-12-31 23:59:59.5"}, Grid: &Grid{Duration: hour}},
		"zoned":  {Bounds: &Bounds{"2020-01-01 00:00:00Z", "2020-12-31T23:59:59+02"}, Grid: &Grid{Duration: hour / 4}},
		"span":   {Bounds: &Bounds{"0 days", "1 day 02:30"}, PerUnit: &Bounds{"0s", "30 days"}, Grid: &Grid{Duration: hour}},
		"clock":  {Bounds: &Bounds{"08:00", "18:30:00"}, Grid: &Grid{Duration: time.Second}},
		"gaps":   {Bounds: &Bounds{"8", "18"}, Valid: []Bounds{{"8", "12"}, {"14", "18"}}},
		"inside": {Bounds: &Bounds{"0", "100"}, Valid: []Bounds{{"0", "10"}, {"90", "100"}}},
		"flag":   {Values: []string{"true", "false"}},
		"level": {
			Values: []string{"1", "2", "3"}, Bounds: &Bounds{"1", "3"},
			Mechanism: &mechanism.Choice{Noise: mechanism.Gaussian, Bounding: mechanism.Truncate, Calibration: mechanism.Paper},
		},
	} {
		want.Name = name
		if diff := cmp.Diff(&want, table.Column(name)); diff != "" {
			t.Errorf("%s differs (-want +got):\n%s", name, diff)
		}
	}
	if p.Table(Name{"public", "Odd.Name"}) == nil {
		t.Error("the quoted name is not found")
	}
}

func TestNearestKeyWins(t *testing.T) {
	p := mustParse(t, small+`
  u:
    privacy_unit: {name: person, column: id}
    max_rows_per_unit: 1
    epsilon: 0.1
    mechanism: {noise: gaussian}
    max_groups_per_unit: 3
    left_out: 0.02
    grid: 0.5
    columns: {id: {}, x: {bounds: [0, 1]}, y: {bounds: [0, 1], grid: 0.25, mechanism: auto}, d: {bounds: [2020-01-01, 2020-02-01]}}
defaults: {epsilon: 0.2, epsilon_max: 0.4, mechanism: {bounding: fold}, grid: 2}
`)
	a, u := p.Table(Name{"public", "t"}), p.Table(Name{"public", "u"})
	fold := mechanism.Choice{Bounding: mechanism.Fold}
	if a.Epsilon != 0.2 || a.EpsilonMax != 0.4 || a.Mechanism != fold || a.MaxGroupsPerUnit != 0 || a.LeftOut != nil ||
		a.Column("age").Grid.Number != "2" {
		t.Errorf("t does not inherit: %+v", a)
	}
	if u.Epsilon != 0.1 || u.EpsilonMax != 0.4 || u.Mechanism != (mechanism.Choice{Noise: mechanism.Gaussian}) ||
		u.MaxGroupsPerUnit != 3 || u.LeftOut == nil || *u.LeftOut != 0.02 {
		t.Errorf("u does not override: %+v", u)
	}
	if x, y, d := u.Column("x"), u.Column("y"), u.Column("d"); x.Grid.Number != "0.5" || x.Mechanism != nil ||
		y.Grid.Number != "0.25" || *y.Mechanism != (mechanism.Choice{}) || d.Grid != nil {
		t.Errorf("columns: %+v %+v %+v", x, y, d)
	}
}

func TestEpsilonAndItsMaximumMoveEachOthersDefault(t *testing.T) {
	for text, want := range map[string][2]float64{
		"":                                       {0.5, 1},
		"defaults: {epsilon: 3}":                 {3, 3},
		"defaults: {epsilon: 0.1}":               {0.1, 1},
		"defaults: {epsilon_max: 0.2}":           {0.2, 0.2},
		"defaults: {epsilon_max: 5}":             {0.5, 5},
		"defaults: {epsilon: 2, epsilon_max: 4}": {2, 4},
	} {
		p := mustParse(t, small+text)
		if got := [2]float64{p.Defaults.Epsilon, p.Defaults.EpsilonMax}; got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestMarginOfAnswers(t *testing.T) {
	for text, want := range map[string]float64{"": 0, "defaults: {margin: 10%}": .1, "defaults: {margin: '2.5 %'}": .025} {
		if got := mustParse(t, small+text).Defaults.Margin; got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestDeltaOfAStatementIsTheLeastOfAnyBudget(t *testing.T) {
	p, err := Load("testdata/good/auth_query.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if p.Accounting.Delta != 1e-8 || p.Analysts["a"].Budget.Delta != 1e-7 {
		t.Errorf("statement %v, a %v", p.Accounting.Delta, p.Analysts["a"].Budget.Delta)
	}
	pure := mustParse(t, strings.Replace(small, "method: rdp", "method: pure", 1))
	if pure.Accounting.Delta != 0 || pure.Analysts["a"].Budget.Delta != 0 {
		t.Errorf("pure accounting has a delta: %+v", pure.Accounting)
	}
	if len(pure.Notes) != 1 {
		t.Errorf("notes %v; want one that delta has no effect", pure.Notes)
	}
}

func TestEnvironment(t *testing.T) {
	text := strings.Replace(small, "postgres://m@db/x,",
		"'${DP_MAIN}', public: 'postgres://${DP_USER}@db/x', admin: {shadow: '${DP_EMPTY}'},", 1)
	env := map[string]string{"DP_USER": "u", "DP_EMPTY": ""}
	p, err := parse("/etc/dp/policy.yaml", []byte(text), func(k string) (string, bool) { v, ok := env[k]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	if p.Databases.Public != "postgres://u@db/x" || p.Databases.Main != "" || p.Databases.AdminShadow != "" {
		t.Errorf("databases: %+v", p.Databases)
	}
	if diff := cmp.Diff(map[string]string{
		"main":         "the environment variable DP_MAIN is not set",
		"admin.shadow": "the environment variable DP_EMPTY is not set",
	}, p.Databases.Unset); diff != "" {
		t.Error(diff)
	}
	if p.Ledger != "file:/etc/dp/dpproxy.ledger" {
		t.Errorf("ledger %s", p.Ledger)
	}
	if err := p.Need("public", "shadow", "ledger"); err != nil {
		t.Error(err)
	}
	want := `/etc/dp/policy.yaml:2:13: databases.main: the environment variable DP_MAIN is not set
/etc/dp/policy.yaml: databases.admin.main: missing: this command needs it
/etc/dp/policy.yaml:2:79: databases.admin.shadow: the environment variable DP_EMPTY is not set`
	if err := p.Need("main", "admin.main", "admin.shadow"); err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func TestVersionChangesWithAnswersOnly(t *testing.T) {
	version := func(text string) string { return mustParse(t, text).Version }
	base := version(small)
	for _, same := range []string{
		small + "# a comment\nlisten: 127.0.0.1:1\npool: {main: 1}\nanswers: {ttl: 1h}\n",
		strings.Replace(small, "epsilon: 1}", "epsilon: 2}", 1),
		strings.Replace(small, "postgres://m@", "postgres://other:secret@", 1),
	} {
		if version(same) != base {
			t.Errorf("the version changed with\n%s", same)
		}
	}
	seen := map[string]string{base: small}
	for _, other := range []string{
		strings.Replace(small, "120", "121", 1),
		strings.Replace(small, "delta: 1e-6", "delta: 1e-7", 1),
		strings.Replace(small, "db/x,", "db/y,", 1),
		strings.Replace(small, "age:", "old:", 1),
		small + "defaults: {epsilon: 0.4}",
		small + "views: [v]",
	} {
		v := version(other)
		if twin, ok := seen[v]; ok {
			t.Errorf("one version for\n%s\nand\n%s", twin, other)
		}
		seen[v] = other
	}
}

func TestVersionDoesNotDependOnOrder(t *testing.T) {
	table := func(n string) string {
		return fmt.Sprintf("  %s: {privacy_unit: {name: person, column: id}, max_rows_per_unit: 1, columns: {id: {}}}\n", n)
	}
	if a, b := mustParse(t, small+table("x")+table("y")), mustParse(t, small+table("y")+table("x")); a.Version != b.Version {
		t.Error("the order of tables changes the version")
	}
}

// TestAliasBomb reads a file whose full expansion has 10^9 values.
func TestAliasBomb(t *testing.T) {
	bomb := "version: 1\nviews: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c <= 'i'; c++ {
		bomb += fmt.Sprintf("k%c: &%c [%s*%c]\n", c, c, strings.Repeat(fmt.Sprintf("*%c, ", c-1), 9), c-1)
	}
	var list []string
	for range 3000 {
		list = append(list, "*x")
	}
	wide := "version: 1\ntables:\n  a: {public: true, columns: &x [" + strings.Repeat("y, ", 3000) + "]}\n"
	for i := range 3000 {
		wide += fmt.Sprintf("  t%d: {public: true, columns: *x}\n", i)
	}
	for name, text := range map[string]string{"deep": bomb, "wide": wide, "list": "views: &x [" +
		strings.Join(list, ", ") + "]"} {
		_, err := Parse("bomb.yaml", []byte(text))
		var problems Errors
		if !errors.As(err, &problems) || len(problems) > maxProblems {
			t.Errorf("%s: %T with %d problems", name, err, len(problems))
		}
	}
}

func TestUnreadableFile(t *testing.T) {
	_, err := Load("testdata/nowhere.yaml")
	if want := "testdata/nowhere.yaml: cannot be read: no such file or directory"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
