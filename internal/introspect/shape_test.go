package introspect

import (
	"context"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// TestShapes: what changes of a column changes its shape and no other's, and what changes of a table changes the
// table's.
func TestShapes(t *testing.T) {
	server, db := pgservertest.Database(
		t,
		`CREATE TABLE t (id int PRIMARY KEY, gone int, "A" varchar(5) COLLATE "C", b numeric(8,2)); ALTER TABLE t DROP gone;
		DROP ROLE IF EXISTS shapes_reader; CREATE ROLE shapes_reader; GRANT SELECT (id, "A", b) ON t TO shapes_reader; SET ROLE shapes_reader`)
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, server.DSN(db, pgserver.Superuser))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(ctx) })
	exec := func(sql string) {
		t.Helper()
		if _, err := conn.Exec(ctx, sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	name := policy.Name{Schema: "public", Relation: "t"}
	shapes := func() map[string]string {
		t.Helper()
		exec("SET ROLE shapes_reader")
		defer exec("RESET ROLE")
		c, err := Read(ctx, conn, []policy.Name{name})
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]string{"the table": c.relations[name].shape}
		for _, column := range c.relations[name].columns {
			all[column.name] = column.shape
		}
		return all
	}
	for _, c := range []struct {
		change  string
		changed []string
	}{
		{"SELECT", nil},
		{`ALTER TABLE t ALTER "A" TYPE varchar(6) COLLATE "C"`, []string{"A"}},
		{`ALTER TABLE t ALTER "A" TYPE varchar(6) COLLATE "POSIX"`, []string{"A"}},
		{"ALTER TABLE t ALTER b TYPE numeric(9,2)", []string{"b"}},
		{"ALTER TABLE t ALTER b SET NOT NULL", []string{"b"}},
		{"REVOKE SELECT (b) ON t FROM shapes_reader", []string{"b"}},
		{"GRANT SELECT (b) ON t TO shapes_reader", []string{"b"}},
		{
			"ALTER TABLE t DROP b; ALTER TABLE t ADD b numeric(9,2) NOT NULL; GRANT SELECT (b) ON t TO shapes_reader",
			[]string{"b"},
		},
		{"ALTER TABLE t ADD new int", []string{"new"}},
		{"ALTER TABLE t ADD FOREIGN KEY (new) REFERENCES t", []string{"the table"}},
		{"ALTER TABLE t ENABLE ROW LEVEL SECURITY", []string{"the table"}},
		{"CREATE TABLE child () INHERITS (t)", []string{"the table"}},
		{"REVOKE SELECT (id, \"A\", b) ON t FROM shapes_reader", []string{"A", "b", "id", "the table"}},
	} {
		before := shapes()
		exec(c.change)
		var changed []string
		for of, shape := range shapes() {
			if before[of] != shape {
				changed = append(changed, of)
			}
		}
		if slices.Sort(changed); !slices.Equal(changed, c.changed) {
			t.Errorf("%s changes the shapes of %q, want %q", c.change, changed, c.changed)
		}
	}
	exec("DROP OWNED BY shapes_reader; DROP ROLE shapes_reader")
}
