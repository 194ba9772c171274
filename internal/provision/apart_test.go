package provision

import (
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/policy"
)

// TestCheckApart: what the environment adds to connection strings counts, too.
func TestCheckApart(t *testing.T) {
	t.Setenv("PGHOST", "db")
	t.Setenv("PGUSER", "fallback")
	clinic := policy.Databases{
		Main: "postgres://cm:x@db/clinic", Shadow: "postgres://cs:x@db/clinic_shadow",
		Public: "postgres://cp:x@db/clinic",
	}
	for _, c := range []struct {
		name, want string // want: of the error; empty: none
		trials     policy.Databases
	}{
		{"apart", "", policy.Databases{Main: "postgres://tm@db/trials", Shadow: "postgres://ts@db/trials_shadow"}},
		{
			"one main, with a shadow for each", "is the main database of clinic, too",
			policy.Databases{Main: "postgres://cm:x@db/clinic", Shadow: "postgres://ts@db/trials_shadow"},
		},
		{"the shadow by PGHOST", "is the shadow of clinic", policy.Databases{
			Main:   "postgres://tm@db/trials",
			Shadow: "user=ts dbname=clinic_shadow",
		}},
		{"the same names on another server", "", policy.Databases{
			Main:   "postgres://cm@other/clinic",
			Shadow: "postgres://cs@other/clinic_shadow",
		}},
		{"a shadow that is a main", "names the main database of clinic", policy.Databases{
			Main:   "postgres://tm@db/trials",
			Shadow: "postgres://ts@db/clinic",
		}},
		{"a main that is a shadow", "names the shadow of clinic", policy.Databases{
			Main:   "postgres://tm@db/clinic_shadow",
			Shadow: "postgres://ts@db/trials_shadow",
		}},
		{
			"a shadow's role that is a main's", "the role cm of shadow, public or twin reads private rows of clinic",
			policy.Databases{Main: "postgres://tm@db/trials", Shadow: "postgres://cm:x@db/trials_shadow"},
		},
		{
			"a main's role that is public's", "names the role cp, which clinic uses",
			policy.Databases{Main: "postgres://cp:x@db/trials", Shadow: "postgres://ts@db/trials_shadow"},
		},
		{"two passwords", "the role cs has another password", policy.Databases{
			Main:   "postgres://tm@db/trials",
			Shadow: "postgres://cs:y@db/trials_shadow",
		}},
		{"no connection", "databases.main is missing", policy.Databases{Shadow: "postgres://ts@db/trials_shadow"}},
	} {
		public := []*policy.Table{{Public: true}}
		p := &policy.Policy{Several: []*policy.Policy{
			{Name: "clinic", Databases: clinic, Tables: public},
			{Name: "trials", Databases: c.trials},
		}}
		err := CheckApart(p)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if err := CheckApart(&policy.Policy{Databases: clinic}); err != nil {
		t.Error(err)
	}
}
