package introspect

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// TestForeignKeys: those that hold for every row are read, and no change of one leaves the shape of its table as it
// was.
func TestForeignKeys(t *testing.T) {
	server, db := pgservertest.Database(
		t, `CREATE TABLE wards (id int PRIMARY KEY, name text UNIQUE NOT NULL, floor int NOT NULL, UNIQUE (id, floor));
		CREATE TABLE visits (id int, ward int REFERENCES wards, called text, floor int)`)
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, server.DSN(db, pgserver.Superuser))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(ctx) })
	wards, visits := policy.Name{Schema: "public", Relation: "wards"}, policy.Name{Schema: "public", Relation: "visits"}
	seen := map[string]string{}
	read := func(after string, keys int) {
		t.Helper()
		c, err := Read(ctx, conn, []policy.Name{wards, visits})
		if err != nil {
			t.Fatal(err)
		}
		r := c.relations[visits]
		if len(r.foreign) != keys {
			t.Errorf("after %s: %v, want %d foreign keys", after, r.foreign, keys)
		}
		for _, k := range r.foreign {
			if k.References != wards || k.Column != "ward" && k.Column != "called" {
				t.Errorf("after %s: %v", after, k)
			}
		}
		if other, known := seen[r.shape]; known && keys > 0 {
			t.Errorf("after %s the shape is as after %s", after, other)
		}
		seen[r.shape] = after
	}
	read("CREATE TABLE", 1)
	for _, c := range []struct {
		change, undo string
		keys         int
	}{
		{
			"ALTER TABLE visits ALTER CONSTRAINT visits_ward_fkey DEFERRABLE",
			"ALTER TABLE visits ALTER CONSTRAINT visits_ward_fkey NOT DEFERRABLE", 0,
		},
		{"ALTER TABLE visits DISABLE TRIGGER ALL", "ALTER TABLE visits ENABLE TRIGGER ALL", 0},
		{"ALTER TABLE wards DISABLE TRIGGER ALL", "ALTER TABLE wards ENABLE TRIGGER ALL", 0},
		{
			"ALTER TABLE visits DROP CONSTRAINT visits_ward_fkey; ALTER TABLE visits ADD CONSTRAINT visits_ward_fkey FOREIGN KEY (ward) REFERENCES wards NOT VALID", "ALTER TABLE visits VALIDATE CONSTRAINT visits_ward_fkey", 0,
		},
		{
			"ALTER TABLE visits ADD CONSTRAINT both_fkey FOREIGN KEY (ward, floor) REFERENCES wards (id, floor); ALTER TABLE visits DROP CONSTRAINT visits_ward_fkey", "ALTER TABLE visits ADD CONSTRAINT visits_ward_fkey FOREIGN KEY (ward) REFERENCES wards; ALTER TABLE visits DROP CONSTRAINT both_fkey", 0,
		},
		{"ALTER TABLE visits ADD FOREIGN KEY (called) REFERENCES wards (name)", "SELECT", 2},
		{"ALTER TABLE visits DROP CONSTRAINT visits_ward_fkey", "SELECT", 1},
	} {
		if _, err := conn.Exec(ctx, c.change); err != nil {
			t.Fatal(err)
		}
		read(c.change, c.keys)
		if _, err := conn.Exec(ctx, c.undo); err != nil {
			t.Fatal(err)
		}
	}
}
