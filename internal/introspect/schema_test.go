package introspect

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/policy"
)

var (
	people = policy.Name{Schema: "public", Relation: "people"}
	visits = policy.Name{Schema: "public", Relation: "visits"}
	costs  = policy.Name{Schema: "public", Relation: "costs"}
)

// rules protect people and, a foreign key away, their visits.
func rules() *policy.Policy {
	return &policy.Policy{
		Tables: []*policy.Table{
			{
				Name: people, Unit: &policy.Unit{Name: "person", Column: "id"}, MaxRowsPerUnit: 1,
				Columns: []*policy.Column{{Name: "id"}, {Name: "age", Bounds: &policy.Bounds{Lo: "0", Hi: "120"}}},
			},
			{
				Name: visits, Unit: &policy.Unit{Name: "person", Via: &policy.Via{
					Column: "person", References: people,
					ReferencesColumn: "id",
				}}, MaxRowsPerUnit: 9,
				Columns: []*policy.Column{{Name: "person"}, {
					Name: "stay", Bounds: &policy.Bounds{Lo: "0 days", Hi: "1.5 days"},
					PerUnit: &policy.Bounds{Lo: "0 h", Hi: "1 mon"},
				}},
			},
		},
		Views: []policy.Name{costs},
	}
}

// database says what rules need; the shadow has it without the column secret, which the policy does not list.
func database(shadow bool) *Catalogs {
	column := func(name string, oid uint32, typeName string) catalogColumn {
		return catalogColumn{name: name, oid: oid, typmod: -1, typeName: typeName, deterministicCollation: true}
	}
	c := &Catalogs{types: map[uint32]catalogType{}, relations: map[policy.Name]*catalogRelation{
		people: {
			name: people, kind: 'r', unique: [][]string{{"id"}, {"secret"}}, primaryKey: []string{"id"},
			columns: []catalogColumn{column("id", pgtype.Int8OID, "bigint"), column("age", pgtype.Int4OID, "integer")},
		},
		visits: {name: visits, kind: 'r', columns: []catalogColumn{
			column("person", pgtype.Int4OID, "integer"),
			column("stay", pgtype.IntervalOID, "interval"),
		}},
		costs: {name: costs, kind: 'v', columns: []catalogColumn{column("age", pgtype.Int4OID, "integer")}},
	}}
	if !shadow {
		c.relations[people].columns = append(c.relations[people].columns, column("secret", pgtype.TextOID, "text"))
	}
	return c
}

func TestSchemaJoinsMainAndShadow(t *testing.T) {
	s, _, err := Schema(rules(), database(false), database(true))
	if err != nil {
		t.Fatal(err)
	}
	if r := s.Relations[people]; len(r.Columns) != 2 || len(r.Unique) != 1 || !slices.Equal(r.PrimaryKey, []string{"id"}) {
		t.Errorf("people: %+v; an index over a column that is not listed proves nothing", r)
	}
	stay := s.Relations[visits].Column("stay")
	if stay.Bounds.Hi.RatString() != "129600000000" || stay.PerUnit.Hi.RatString() != "2592000000000" {
		t.Errorf("stay: %v, %v", stay.Bounds, stay.PerUnit)
	}
	if !SameShape(rules(), database(false), database(true)) {
		t.Error("the shadow differs from main")
	}
}

func TestSchemaRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(p *policy.Policy, main, shadow *Catalogs)
		want   []string
		stale  bool
	}{
		{
			"a table that main lacks", func(_ *policy.Policy, main, _ *Catalogs) { delete(main.relations, people) },
			[]string{"tables.public.people: main has no such table"},
			false,
		},
		{"a column that main lacks", func(p *policy.Policy, _, _ *Catalogs) {
			p.Tables[0].Columns = append(p.Tables[0].Columns, &policy.Column{Name: "gone"})
		}, []string{"tables.public.people.columns.gone: main has no such column"}, false},
		{
			"a materialised view", func(_ *policy.Policy, main, _ *Catalogs) { main.relations[people].kind = 'm' },
			[]string{"whose rows may mix privacy units"},
			false,
		},
		{
			"a table under views", func(_ *policy.Policy, main, _ *Catalogs) { main.relations[costs].kind = 'r' },
			[]string{"public.costs is no plain view"},
			false,
		},
		{
			"row-level security", func(_ *policy.Policy, main, _ *Catalogs) { main.relations[people].rowLevel = true },
			[]string{"row-level security"},
			false,
		},
		{"a chain over a column that repeats", func(_ *policy.Policy, main, _ *Catalogs) {
			main.relations[people].unique = nil
		}, []string{"has no unique index in main"}, false},
		{"a composite type", func(_ *policy.Policy, main, _ *Catalogs) {
			main.relations[people].columns[1].oid, main.types[99999] = 99999, catalogType{oid: 99999, kind: 'c'}
		}, []string{"a composite type"}, false},
		{
			"a unit that rounds", func(_ *policy.Policy, main, shadow *Catalogs) {
				for _, c := range []*Catalogs{main, shadow} {
					c.relations[people].columns[0].oid, c.relations[people].columns[0].typeName = pgtype.Float8OID, "double precision"
				}
			},
			[]string{"tables.public.people.privacy_unit.column: id is double precision", "which do not compare as one"},
			false,
		},
		{"all bounds that do not fit", func(p *policy.Policy, _, _ *Catalogs) {
			p.Tables[0].Columns[1].Bounds = &policy.Bounds{Lo: "0", Hi: "0.5"}
			p.Tables[1].Columns[1].PerUnit = &policy.Bounds{Lo: "0", Hi: "5"}
		}, []string{
			"tables.public.people.columns.age.bounds: 0.5 is no whole number",
			"tables.public.visits.columns.stay.per_unit: 0 is a number",
		}, false},
		{
			"a shadow without a table", func(_ *policy.Policy, _, shadow *Catalogs) { delete(shadow.relations, visits) },
			[]string{"the shadow has no public.visits"},
			true,
		},
		{"another type in the shadow", func(_ *policy.Policy, _, shadow *Catalogs) {
			shadow.relations[people].columns[1].typeName = "bigint"
		}, []string{"public.people.age is integer in main and bigint in the shadow"}, true},
		{
			"more columns in the shadow", func(_ *policy.Policy, _, shadow *Catalogs) { *shadow = *database(false) },
			[]string{"has columns that the policy does not list"},
			true,
		},
		{
			"a view in the shadow only", func(_ *policy.Policy, _, shadow *Catalogs) { shadow.relations[people].kind = 'v' },
			[]string{"is a view in one of main and shadow only"},
			true,
		},
	} {
		p, main, shadow := rules(), database(false), database(true)
		c.change(p, main, shadow)
		_, _, err := Schema(p, main, shadow)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", c.name, err, want)
			}
		}
		if errors.Is(err, ErrStale) != c.stale {
			t.Errorf("%s: %v, stale: want %v", c.name, err, c.stale)
		}
	}
}
