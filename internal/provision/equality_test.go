package provision

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
	"github.com/dpproxy/dpproxy/internal/policy"
)

const equalitySQL = `
CREATE COLLATION ci (PROVIDER = icu, LOCALE = 'und-u-ks-level2', DETERMINISTIC = false);
CREATE DOMAIN person AS bigint;
CREATE DOMAIN weight AS float8;
CREATE TABLE people (id bigint PRIMARY KEY, small int NOT NULL UNIQUE, real float8 UNIQUE, at timestamp UNIQUE, name text UNIQUE, folded text COLLATE ci UNIQUE,
  c text COLLATE "C" UNIQUE, posix text COLLATE "POSIX" UNIQUE, number numeric UNIQUE, person person UNIQUE, weight weight UNIQUE);
CREATE TABLE things (key bigint PRIMARY KEY, owner bigint, small int, real float8, at timestamptz, name varchar(20), folded text COLLATE ci, c text COLLATE "C",
  number numeric, price numeric(6,2), day date, code char(3), short varchar(2), person person, weight weight);
CREATE TABLE parts (thing bigint, x float8);
CREATE TABLE words (word text PRIMARY KEY, folded text COLLATE ci);
CREATE FOREIGN DATA WRAPPER nowhere;
CREATE SERVER elsewhere FOREIGN DATA WRAPPER nowhere;
CREATE FOREIGN TABLE remote (id bigint, x int) SERVER elsewhere;
INSERT INTO words VALUES ('1.0', 'a'), ('1.00', 'b'), ('2', 'c')`

func public(relation string) policy.Name { return policy.Name{Schema: "public", Relation: relation} }

// equalities is a policy over equalitySQL that every check accepts, with a shadow.
func equalities(t *testing.T) *policy.Policy {
	t.Helper()
	p, s := clinic(t)
	main, err := pgx.ParseConfig(p.Databases.Main)
	if err != nil {
		t.Fatal(err)
	}
	pgservertest.Exec(t, s.DSN(main.Database, pgserver.Superuser), equalitySQL)
	via := func(column, table, references string) *policy.Unit {
		return &policy.Unit{Name: "person", Via: &policy.Via{
			Column: column, References: public(table),
			ReferencesColumn: references,
		}}
	}
	p.Views = nil
	p.Tables = []*policy.Table{
		{
			Name: public("people"), Unit: &policy.Unit{Name: "person", Column: "id"}, MaxRowsPerUnit: 1,
			Columns: columns("id", "small", "real", "at", "name", "folded", "c", "posix", "number", "person", "weight"),
		},
		{
			Name: public("things"), Unit: via("owner", "people", "id"), MaxRowsPerUnit: 5,
			Columns: columns("key", "owner", "small", "real", "at", "name", "folded", "c", "number", "price", "day", "code",
				"short", "person", "weight"),
		},
		{Name: public("parts"), Unit: via("thing", "things", "key"), MaxRowsPerUnit: 5, Columns: columns("thing", "x")},
		{
			Name: public("remote"), Unit: &policy.Unit{Name: "person", Column: "id"}, MaxRowsPerUnit: 5,
			Columns: columns("id", "x"),
		},
		{Name: public("words"), Public: true},
	}
	setUp(t, p).Close()
	return p
}

func TestUnitsJoinUnderOneEquality(t *testing.T) {
	p := equalities(t)
	people, things, parts := p.Tables[0], p.Tables[1], p.Tables[2]
	for _, c := range []struct {
		via, references string
		want            string // empty: accepted
	}{
		{"owner", "id", ""},
		{"small", "id", ""},
		{"person", "id", ""}, // a domain compares as its base type
		{"name", "name", ""}, // varchar and text
		{"c", "name", ""},    // the database's own collation gives way
		{"number", "number", ""},
		{
			"c", "posix",
			`tables.public.things.privacy_unit.via: c is text COLLATE pg_catalog."C" and public.people.posix is text COLLATE pg_catalog."POSIX"`,
		},
		{"real", "id", "real is double precision and public.people.id is bigint, which do not compare as one"},
		{"real", "real", "no float"},
		{"weight", "weight", "no float"},
		{"at", "at", "at is timestamp with time zone and public.people.at is timestamp without time zone"},
		{"folded", "name", "folded is text COLLATE public.ci (not deterministic) and public.people.name is text"},
		{"name", "folded", "one deterministic collation"},
		{"number", "id", "number is numeric and public.people.id is bigint"},
	} {
		t.Run(c.via+" "+c.references, func(t *testing.T) {
			things.Unit.Via.Column, things.Unit.Via.ReferencesColumn = c.via, c.references
			judge(t, check(t, p), c.want)
		})
	}
	things.Unit.Via.Column, things.Unit.Via.ReferencesColumn = "owner", "id"
	t.Run("the second step", func(t *testing.T) {
		parts.Unit.Via.Column = "x"
		judge(t, check(t, p), "tables.public.parts.privacy_unit.via: x is double precision and public.things.key is bigint")
		parts.Unit.Via.Column = "thing"
	})
	for column, want := range map[string]string{
		"small": "", "posix": "", "person": "",
		"real":   "tables.public.people.privacy_unit.column: real is double precision, whose equal values may be different units",
		"weight": "weight is public.weight, whose equal values",
		"folded": "folded is text COLLATE public.ci (not deterministic), whose equal values",
	} {
		t.Run("unit "+column, func(t *testing.T) {
			people.Unit.Column = column
			judge(t, check(t, p), want)
		})
	}
	people.Unit.Column = "name"
	found := check(t, p)
	judge(t, found, "")
	advice := strings.Join(found.Advice, "\n")
	for _, want := range []string{
		"tables.public.remote.privacy_unit.column: id is bigint and public.people.name is text: joins of the two tables are refused",
		"tables.public.remote is a foreign table",
	} {
		if !strings.Contains(advice, want) {
			t.Errorf("advice without %q:\n%s", want, advice)
		}
	}
	if strings.Contains(advice, "INDEX ON \"public\".\"remote\"") {
		t.Errorf("a foreign table has no indexes:\n%s", advice)
	}
}

func TestValuesAreDifferentInTheirColumn(t *testing.T) {
	p := equalities(t)
	word := &policy.ColumnOf{Table: public("words"), Column: "word"}
	for _, c := range []struct {
		name, column string
		values       []string
		from         *policy.ColumnOf
		want         string
	}{
		{"texts", "name", []string{"ann", "ANN"}, nil, ""},
		{"a collation of bytes", "c", []string{"ann", "ANN"}, nil, ""},
		{
			"a collation that folds", "folded",
			[]string{"ann", "ANN"},
			nil,
			"tables.public.things.columns.folded.values: the column's collation public.ci is not deterministic",
		},
		{
			"numbers", "price",
			[]string{"1.0", "2", "1.00"},
			nil,
			`columns.price.values: "1.0" and "1.00" are equal as numeric(6,2): keep one of them`,
		},
		{"numbers that are rounded", "price", []string{"1.001", "1.002"}, nil, `"1.001" and "1.002" are equal`},
		{"days", "day", []string{"2020-01-01", "20200101"}, nil, `"2020-01-01" and "20200101" are equal as date`},
		{"padded texts", "code", []string{"a", "a "}, nil, `"a" and "a " are equal as character(3)`},
		{"texts that are cut", "short", []string{"abc", "abd"}, nil, `"abc" and "abd" are equal as character varying(2)`},
		{"floats", "real", []string{"0", "-0"}, nil, `"0" and "-0" are equal`},
		{"a domain's", "person", []string{"7", "07"}, nil, `"7" and "07" are equal as public.person`},
		{"several pairs", "small", []string{"1", "01", "001"}, nil, `"1" and "01".*"1" and "001".*"01" and "001"`},
		{"a table's texts", "name", nil, word, ""},
		{
			"a table's texts as numbers", "number", nil, word,
			`columns.number.values_from: "1.0" and "1.00" are equal as numeric`,
		},
		{"a table's texts that are no days", "day", nil, word, "columns.day.values_from: invalid input syntax"},
		{
			"a table's texts in a column that folds", "folded", nil, word,
			"columns.folded.values_from: the column's collation public.ci is not deterministic",
		},
		{
			"texts that fold, in a column of bytes", "name", nil, &policy.ColumnOf{Table: public("words"), Column: "folded"},
			"",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			column := p.Tables[1].Column(c.column)
			column.Values, column.ValuesFrom = c.values, c.from
			judge(t, check(t, p), c.want)
			column.Values, column.ValuesFrom = nil, nil
		})
	}
}

// judge wants a problem as mustSay does, or none where want is empty.
func judge(t *testing.T, f *Findings, want string) {
	t.Helper()
	if err := f.Err(); want == "" && err != nil {
		t.Error(err)
	} else if want != "" {
		mustSay(t, f, want)
	}
}
