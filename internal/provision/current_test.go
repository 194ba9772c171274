package provision

import (
	"context"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
)

// TestSetupLeavesACurrentShadowAlone looks at the number of a table: making the shadow anew gives it another one.
func TestSetupLeavesACurrentShadowAlone(t *testing.T) {
	p, s := clinic(t)
	setUp(t, p)
	main := s.DSN(databaseOf(t, p), pgserver.Superuser)
	shadow := s.DSN(databaseOf(t, p)+"_shadow", pgserver.Superuser)
	number := func() string { return ask(t, shadow, "SELECT 'public.wards'::regclass::oid::text") }
	last := number()
	for _, c := range []struct {
		name   string
		change func()
		anew   bool
	}{
		{"nothing", func() {}, false},
		{"another bound", func() { p.Tables[0].Columns[1].Bounds.Hi = "119" }, true}, // \d+ shows it
		{
			"a column that main got and the policy does not list",
			func() { pgservertest.Exec(t, main, "ALTER TABLE patients ADD more int") }, false,
		},
		{"a type in main", func() { pgservertest.Exec(t, main, "ALTER TABLE wards ALTER beds TYPE bigint") }, true},
		{"a column in the shadow", func() { pgservertest.Exec(t, shadow, "ALTER TABLE wards ADD more int") }, true},
		{"a table in the shadow", func() { pgservertest.Exec(t, shadow, "CREATE TABLE more ()") }, true},
		{"another comment", func() {
			pgservertest.Exec(
				t, shadow,
				"DO $$ BEGIN EXECUTE format('COMMENT ON DATABASE %I IS ''dpproxy shadow of old''', current_database()); END $$")
		}, true},
		{"nothing again", func() {}, false},
	} {
		c.change()
		var log strings.Builder
		if err := Setup(context.Background(), p, &log); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		now := number()
		if (now != last) != c.anew || strings.Contains(log.String(), "_shadow: up to date") == c.anew {
			t.Errorf("%s: made anew %v, want %v\n%s", c.name, now != last, c.anew, &log)
		}
		last = now
	}
}
