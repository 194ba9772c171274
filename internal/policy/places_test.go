package policy

import (
	"errors"
	"testing"
)

// TestPlacesOfLaterProblems: what a check against the databases finds has the place that a problem of the file would
// have.
func TestPlacesOfLaterProblems(t *testing.T) {
	p, err := Parse("p.yaml", []byte(`version: 1
databases: {main: postgres://m@db/x, shadow: postgres://s@db/x_shadow, public: postgres://p@db/x}
accounting: {delta: 1e-6}
analysts:
  a: {certificate: a, budget: {epsilon: 1}}
auth: {method: certificate}
tls: {cert: c, key: k, client_ca: ca}
tables:
  '"odd.name"': {public: true}
  visits:
    privacy_unit: {name: patient, column: id}
    columns:
      id: {}
      cost: {bounds: [0, 1]}
  more.visits: {public: true}
views: [first, second]
`))
	if err != nil {
		t.Fatal(err)
	}
	for given, want := range map[string]string{
		"tables.public.visits.columns.cost: main has no such column":     "p.yaml:14:7: tables.visits.columns.cost: main has no such column",
		"tables.public.visits.columns.cost.bounds: too wide: by far":     "p.yaml:14:14: tables.visits.columns.cost.bounds: too wide: by far",
		"tables.public.visits.privacy_unit.via: nothing":                 "p.yaml:11:5: tables.visits.privacy_unit.via: nothing",
		"tables.public.visits: no index":                                 "p.yaml:10:3: tables.visits: no index",
		"tables.more.visits.public: whose":                               "p.yaml:15:17: tables.more.visits.public: whose",
		"tables.public.odd.name.public: whose":                           "p.yaml:9:18: tables.\"odd.name\".public: whose",
		"views[1]: main has no view":                                     "p.yaml:16:16: views[1]: main has no view",
		"databases.shadow: public.visits has rows":                       "p.yaml:2:38: databases.shadow: public.visits has rows",
		"the shadow database is out of date: run dpproxy setup":          "the shadow database is out of date: run dpproxy setup",
		"public.visits.cost is integer in main and bigint in the shadow": "public.visits.cost is integer in main and bigint in the shadow",
	} {
		if got := p.LocateLine(given); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", given, got, want)
		}
	}
	cause := errors.New("views[0]: main has no view\nstale")
	if err := p.Locate(cause); !errors.Is(err, cause) || err.Error() != "p.yaml:16:9: views[0]: main has no view\nstale" {
		t.Errorf("%v", err)
	}
	if err := p.Locate(nil); err != nil {
		t.Errorf("nil became %v", err)
	}
}
