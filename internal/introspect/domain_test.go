package introspect

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// TestDomains: what a domain is over is read with its constraints, and a change of them changes the shape of tables
// that have it.
func TestDomains(t *testing.T) {
	server, db := pgservertest.Database(
		t, `CREATE DOMAIN price AS numeric(10,2); CREATE DOMAIN fee AS price; CREATE TABLE bills (id int, fee fee)`)
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, server.DSN(db, pgserver.Superuser))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(ctx) })
	name := policy.Name{Schema: "public", Relation: "bills"}
	p := &policy.Policy{Tables: []*policy.Table{{Name: name, Public: true}}}
	shapes := map[string]string{}
	for _, c := range []struct {
		change              string
		constrained, filled bool
	}{
		{"SELECT", false, false},
		{"ALTER DOMAIN price ADD CONSTRAINT positive CHECK (VALUE > 0)", true, false},
		{
			"ALTER DOMAIN price DROP CONSTRAINT positive; ALTER DOMAIN price ADD CONSTRAINT positive CHECK (VALUE >= 0)", true,
			false,
		},
		{"ALTER DOMAIN fee SET NOT NULL", true, true},
		{"ALTER DOMAIN price DROP CONSTRAINT positive", true, true},
	} {
		if _, err := conn.Exec(ctx, c.change); err != nil {
			t.Fatal(err)
		}
		found, err := Read(ctx, conn, []policy.Name{name})
		if err != nil {
			t.Fatal(err)
		}
		s, _, err := Schema(p, found, found)
		if err != nil {
			t.Fatal(err)
		}
		column := s.Relations[name].Column("fee")
		d := s.Below(s.Types[column.Type])
		if d.Base != 1700 || d.Typmod != 10<<16+2+4 || d.Constrained != c.constrained || d.Collated || column.NotNull ||
			column.Filled != c.filled {
			t.Errorf("after %s: %+v, %+v", c.change, d, column)
		}
		if other, known := shapes[column.Shape]; known {
			t.Errorf("after %s the shape is as after %s", c.change, other)
		}
		shapes[column.Shape] = c.change
	}
	shadow, err := Read(ctx, conn, []policy.Name{name})
	if err != nil {
		t.Fatal(err)
	}
	if _,
		err := conn.Exec(
		ctx,
		"DROP TABLE bills; DROP DOMAIN fee, price; CREATE DOMAIN price AS float8; CREATE DOMAIN fee AS price; CREATE TABLE bills (id int, fee fee)"); err != nil {
		t.Fatal(err)
	}
	main, err := Read(ctx, conn, []policy.Name{name})
	if err != nil {
		t.Fatal(err)
	}
	if SameShape(p, main, shadow) {
		t.Error("a domain over another type on main is not noticed")
	}
}

// TestEnums: what changes an enum changes the shapes of columns that are of it, of an array of it, and of a domain over
// it.
func TestEnums(t *testing.T) {
	server, db := pgservertest.Database(t, `CREATE TYPE mood AS ENUM ('bad', 'good'); CREATE DOMAIN state AS mood;
		CREATE TABLE days (id int, mood mood, moods mood[], state state)`)
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, server.DSN(db, pgserver.Superuser))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(ctx) })
	name := policy.Name{Schema: "public", Relation: "days"}
	shadow, err := Read(ctx, conn, []policy.Name{name})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for _, c := range shadow.relations[name].columns {
		seen[c.shape] = "nothing"
	}
	for _, change := range []struct {
		sql   string
		known bool // the shapes are those that columns had before
	}{
		{"ALTER TYPE mood ADD VALUE 'ok' BEFORE 'good'", false},
		{"ALTER TYPE mood RENAME VALUE 'ok' TO 'fine'", false},
		{"ALTER TYPE mood RENAME TO feeling", false},
		{"CREATE SCHEMA other; ALTER TYPE feeling SET SCHEMA other", false},
		{
			"ALTER TYPE other.feeling RENAME TO mood; ALTER TYPE other.mood SET SCHEMA public; SET quote_all_identifiers = on",
			true,
		},
	} {
		if _, err := conn.Exec(ctx, change.sql); err != nil {
			t.Fatal(err)
		}
		found, err := Read(ctx, conn, []policy.Name{name})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range found.relations[name].columns {
			if other, known := seen[c.shape]; known != (change.known || c.name == "id") {
				t.Errorf("after %s the shape of %s is as after %q", change.sql, c.name, other)
			}
			seen[c.shape] = change.sql
		}
		for _, column := range []string{"mood", "moods", "state"} {
			c, s := found.relations[name].column(column), shadow.relations[name].column(column)
			if typesDiffer(found, shadow, c.oid, s.oid) == "" {
				t.Errorf("after %s, %s has the labels that it had", change.sql, column)
			}
		}
	}
}

// TestShapesDoNotDependOnSettings: main proves shapes in the zone of a session, so no constant of a constraint may be
// printed in one.
func TestShapesDoNotDependOnSettings(t *testing.T) {
	server, db := pgservertest.Database(
		t,
		`CREATE DOMAIN recent AS timestamptz CHECK (VALUE > '2020-01-01 00:00+00' AND VALUE - interval '1 day 02:00' > '2019-01-01 00:00+00');
		CREATE TABLE "Days" (id int PRIMARY KEY, day date NOT NULL); CREATE TABLE "Events" (at recent, "Day" int REFERENCES "Days")`)
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, server.DSN(db, pgserver.Superuser))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(ctx) })
	name := policy.Name{Schema: "public", Relation: "Events"}
	shape := ""
	for _, settings := range []string{
		"SELECT", "SET TimeZone = 'Asia/Tokyo'", "SET DateStyle = 'German, DMY'",
		"SET IntervalStyle = 'iso_8601'", "SET extra_float_digits = 0",
	} {
		if _, err := conn.Exec(ctx, settings); err != nil {
			t.Fatal(err)
		}
		c, err := Read(ctx, conn, []policy.Name{name})
		if err != nil {
			t.Fatal(err)
		}
		if found := c.relations[name].shape + c.relations[name].columns[0].shape; shape == "" {
			shape = found
		} else if found != shape {
			t.Errorf("another shape after %s", settings)
		}
	}
}
