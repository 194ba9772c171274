package provision

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// TestPublicTablesOfPeople makes one table after the other public whose rows are patients' in some way.
func TestPublicTablesOfPeople(t *testing.T) {
	p, s := clinic(t)
	b := setUp(t, p)
	database := databaseOf(t, p)
	b.Close()
	dsn := s.DSN(database, pgserver.Superuser)
	nobody := []string{"nobody"}
	for _, c := range []struct {
		name, sql string
		public    string   // the table that the policy lists as public
		vouched   []string // its refers_to_people; nobody: false
		want      string   // the only problem; empty: none
		advice    string
	}{
		{"nobody's", "CREATE TABLE x (id bigint PRIMARY KEY, bed int)", "x", nil, "", ""},
		{
			"a key", "CREATE TABLE x (patient bigint REFERENCES patients)", "x", nil,
			"tables.public.x.public: its foreign key x_patient_fkey (patient) leads to public.patients, whose rows are a patient's: write privacy_unit: {name: patient, column: patient} in its place; or, if the rows here are facts about the institution and not about that patient, write refers_to_people: [patient] beside public: true", "",
		},
		{
			"a key of facts about the institution", "CREATE TABLE x (patient bigint REFERENCES patients)", "x",
			[]string{"patient"},
			"", "",
		},
		{
			"one of two keys", "CREATE TABLE x (head bigint REFERENCES patients, patient bigint REFERENCES patients)", "x",
			[]string{"head"},
			"x_patient_fkey (patient)", "",
		},
		{
			"a key that nothing enforces",
			"CREATE TABLE x (patient bigint); ALTER TABLE x ADD FOREIGN KEY (patient) REFERENCES patients NOT VALID; ALTER TABLE x DISABLE TRIGGER ALL", "x", nil, "x_patient_fkey (patient)", "",
		},
		{
			"a key of two columns",
			"ALTER TABLE patients ADD UNIQUE (id, age); CREATE TABLE x (p bigint, a int, FOREIGN KEY (p, a) REFERENCES patients (id, age))", "x",
			[]string{"a"},
			"x_p_a_fkey (p, a) leads to public.patients", "",
		},
		{
			"a key of a partition",
			"CREATE TABLE x (p bigint) PARTITION BY RANGE (p); CREATE TABLE x1 PARTITION OF x FOR VALUES FROM (0) TO (9); CREATE TABLE x2 PARTITION OF x FOR VALUES FROM (9) TO (99); ALTER TABLE x2 ADD FOREIGN KEY (p) REFERENCES patients", "x", nil,
			"its foreign key x2_p_fkey (p), that of public.x2, with which it shares rows, leads to public.patients", "",
		},
		{
			"a key of a partition's partition",
			"CREATE TABLE x (p bigint) PARTITION BY RANGE (p); CREATE TABLE x1 PARTITION OF x FOR VALUES FROM (0) TO (9) PARTITION BY RANGE (p); CREATE TABLE x2 PARTITION OF x1 FOR VALUES FROM (0) TO (9); ALTER TABLE x2 ADD FOREIGN KEY (p) REFERENCES patients", "x", nil, "that of public.x2", "",
		},
		{
			"keys of all partitions",
			"CREATE TABLE x (p bigint REFERENCES patients) PARTITION BY RANGE (p); CREATE TABLE x1 PARTITION OF x FOR VALUES FROM (0) TO (9); CREATE TABLE x2 PARTITION OF x FOR VALUES FROM (9) TO (99)", "x",
			[]string{"p"},
			"", "",
		},
		{
			"a key of a child, by a column that the table has not",
			"CREATE TABLE x (floor int); CREATE TABLE y (p bigint REFERENCES patients) INHERITS (x)", "x", nil,
			"y_p_fkey (p), that of public.y", "",
		},
		{
			"a key of a parent", "CREATE TABLE y (p bigint REFERENCES patients); CREATE TABLE x () INHERITS (y)", "x", nil,
			"y_p_fkey (p), that of public.y", "",
		},
		{
			"the other parent of a child",
			"CREATE TABLE y (p bigint REFERENCES patients); CREATE TABLE x (floor int); CREATE TABLE z () INHERITS (x, y)", "x",
			nil, "y_p_fkey (p)", "",
		},
		{
			"a sibling",
			"CREATE TABLE y (floor int); CREATE TABLE z (p bigint REFERENCES patients) INHERITS (y); CREATE TABLE x () INHERITS (y)", "x", nil, "", "",
		},
		{
			"a chain through a table that is not listed",
			"CREATE TABLE y (id int PRIMARY KEY, p bigint REFERENCES patients); CREATE TABLE x (y int REFERENCES y)", "x", nil,
			"x_y_fkey (y) leads by public.y to public.patients, whose rows are a patient's: list public.y with a privacy_unit",
			"",
		},
		{
			"a chain into a private table", `CREATE TABLE x (v bigint REFERENCES "Odd Schema"."vi""sits")`, "x", nil,
			`via: {column: v, references: Odd Schema.vi"sits.Visit Id}`, "",
		},
		{
			"a chain that comes back",
			"CREATE TABLE x (id int PRIMARY KEY, y int); CREATE TABLE y (id int PRIMARY KEY, x int REFERENCES x); ALTER TABLE x ADD FOREIGN KEY (y) REFERENCES y", "x", nil, "", "",
		},
		{
			"a chain into a partition of a private table", `CREATE TABLE x (v bigint REFERENCES "Odd Schema".v1)`, "x", nil,
			"x_v_fkey (v) leads to", "",
		},
		{
			"a public table that refers",
			"ALTER TABLE wards ADD chief bigint REFERENCES patients; CREATE TABLE x (ward text REFERENCES wards)", "wards",
			[]string{"chief"},
			"", "",
		},
		{
			"the name and type of a key", "CREATE TABLE x (patient_id int, id bigint, bed int)", "x", nil,
			"tables.public.x.public: patient_id has the name and type of a patient's key: if the rows are theirs, give the table a privacy_unit or take it out of the policy; if not, write refers_to_people: [patient_id], or false for the whole table, beside public: true", "",
		},
		{"the name of a key, which the policy knows", "CREATE TABLE x (patient_id int)", "x", []string{"patient_id"}, "", ""},
		{
			"the name of a key in a table that refers to nobody", "CREATE TABLE x (patient_id int, snippet text)", "x", nobody,
			"", "",
		},
		{
			"a key in a table that refers to nobody", "CREATE TABLE x (patient bigint REFERENCES patients)", "x", nobody,
			"x_patient_fkey (patient)", "",
		},
		{
			"the name of a key and another type", "CREATE TABLE x (patient_id text)", "x", nil, "",
			"tables.public.x.public: it is public, but patient_id says patient: say refers_to_people: false",
		},
		{
			"the end of a key's name", "CREATE TABLE x (former_patient_id int)", "x", nil, "",
			"former_patient_id looks like a patient's key",
		},
		{
			"the key of a table that is not listed",
			"CREATE TABLE y (note_id int PRIMARY KEY, patient_id int); CREATE TABLE x (note_nlp_id int PRIMARY KEY, note_id int, snippet varchar(250))", "x", nil,
			"note_id has the name and type of the key of y", "snippet is free text",
		},
		{
			"the key of a table that is not listed, through another",
			"CREATE TABLE y (stay_id int PRIMARY KEY, patient_id int); CREATE TABLE z (bag_id int PRIMARY KEY, stay_id int); CREATE TABLE x (bag_id int)", "x", nil, "bag_id has the name and type of the key of z", "",
		},
		{
			"the key of a table that is not listed, which has a foreign key",
			"CREATE TABLE y (note_id int PRIMARY KEY, p bigint REFERENCES patients); CREATE TABLE x (note_id int)", "x", nil,
			"note_id has the name and type of the key of y", "",
		},
		{
			"a foreign key to a table that is not listed",
			"CREATE TABLE y (bag int PRIMARY KEY, patient_id int); CREATE TABLE x (item int REFERENCES y)", "x", nil,
			"item leads to y", "",
		},
		{
			"the key of a dictionary",
			"CREATE TABLE y (drug_id int PRIMARY KEY, name text); CREATE TABLE x (drug_id int, price int)", "x", nil, "", "",
		},
		{
			"a log", "CREATE TABLE access_log (id int PRIMARY KEY, logged_at timestamptz)", "access_log", nil, "",
			"its name says that it records something (log)",
		},
		{
			"a misspelled column", "CREATE TABLE x (chief bigint)", "x",
			[]string{"chef"},
			"tables.public.x.refers_to_people: main has no such column as chef", "",
		},
		{
			"a partition of a private table", "SELECT", "Odd Schema.v1", nil,
			`it shows rows of Odd Schema.vi"sits, which are a patient's`, "",
		},
		{"a child of a private table", "SELECT", "child", nil, "it shows rows of public.parent", ""},
		{
			"a parent of a private table", "CREATE TABLE x (id bigint); ALTER TABLE patients INHERIT x", "x", nil,
			"it shows rows of public.patients", "",
		},
		// and refused as a view, below
		{"a view over a private table", "SELECT", "costs", nil, "it shows rows of public.patients", ""},
		{
			"a foreign table that comes back",
			"CREATE SERVER IF NOT EXISTS loop FOREIGN DATA WRAPPER postgres_fdw; CREATE FOREIGN TABLE x (a int) SERVER loop OPTIONS (table_name 'patients')", "x", nil, "it shows rows of public.patients", "",
		},
		{
			"a foreign table over a view",
			"CREATE SERVER IF NOT EXISTS loop FOREIGN DATA WRAPPER postgres_fdw; CREATE FOREIGN TABLE x (a int) SERVER loop OPTIONS (table_name 'costs')", "x", nil, "it shows rows of ", "",
		},
		{
			"a foreign table over a materialised view over a view",
			"CREATE SERVER IF NOT EXISTS loop FOREIGN DATA WRAPPER postgres_fdw; CREATE MATERIALIZED VIEW y AS SELECT * FROM costs; CREATE FOREIGN TABLE x (a int) SERVER loop OPTIONS (table_name 'y')", "x", nil, "it shows rows of ", "",
		},
		{
			"a foreign partition",
			"CREATE SERVER IF NOT EXISTS loop FOREIGN DATA WRAPPER postgres_fdw; CREATE TABLE x (id bigint) PARTITION BY RANGE (id); CREATE FOREIGN TABLE y PARTITION OF x FOR VALUES FROM (0) TO (9) SERVER loop OPTIONS (table_name 'patients')", "x", nil, "it shows rows of public.patients", "",
		},
		{
			"a foreign table of another database",
			"CREATE SERVER IF NOT EXISTS other FOREIGN DATA WRAPPER postgres_fdw OPTIONS (dbname 'weather'); CREATE FOREIGN TABLE x (a int) SERVER other OPTIONS (table_name 'patients')", "x", nil, "", "is a foreign table",
		},
		{
			"the table that names the units",
			"CREATE TABLE x (id bigint PRIMARY KEY); ALTER TABLE patients ADD FOREIGN KEY (id) REFERENCES x NOT VALID", "x", nil,
			"patients_id_fkey (id) of public.patients references it, so each of its rows is a patient: give it privacy_unit: {name: patient, column: id}", "",
		},
		{
			"the table that names the units, which everybody may read",
			"CREATE TABLE x (id bigint PRIMARY KEY); ALTER TABLE patients ADD FOREIGN KEY (id) REFERENCES x NOT VALID", "x",
			[]string{"id"},
			"", "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			pgservertest.Exec(t, dsn, "CREATE EXTENSION IF NOT EXISTS postgres_fdw; "+c.sql)
			defer pgservertest.Exec(t, dsn, dropSQL)
			schema, relation, ok := strings.Cut(c.public, ".")
			if !ok {
				schema, relation = "public", c.public
			}
			changed := *p
			table := &policy.Table{
				Name: policy.Name{Schema: schema, Relation: relation}, Public: true,
				RefersToPeople: c.vouched,
			}
			if slices.Equal(c.vouched, nobody) {
				table.RefersToPeople, table.RefersToNobody = nil, true
			}
			changed.Tables = append(changed.Tables[:3:3], table)
			found := check(t, &changed)
			var said []string
			for _, problem := range strings.Split(problemsOf(found), "\n") {
				if strings.HasPrefix(problem, "tables.") && (strings.Contains(problem, ".public: ") ||
					strings.Contains(problem, "refers_to_people: main")) {
					said = append(said, problem)
				}
			}
			if c.want == "" && len(said) > 0 || c.want != "" && (len(said) != 1 || !strings.Contains(said[0], c.want)) {
				t.Errorf("problems:\n%s\nwant %q", strings.Join(said, "\n"), c.want)
			}
			var advice []string
			for _, line := range found.Advice {
				if strings.Contains(line, ".public: ") {
					advice = append(advice, line)
				}
			}
			if c.advice == "" && len(advice) > 0 || c.advice != "" &&
				(len(advice) != 1 || !strings.Contains(advice[0], c.advice)) {
				t.Errorf("advice:\n%s\nwant %q", strings.Join(advice, "\n"), c.advice)
			}
		})
	}
	for _, c := range []struct{ kind, want string }{
		{"VIEW", "tables.public.x: it is a view"},
		{"MATERIALIZED VIEW", "tables.public.x: it is a materialised view"},
	} {
		pgservertest.Exec(t, dsn, "CREATE "+c.kind+" x AS SELECT * FROM costs")
		changed := *p
		changed.Tables = append(changed.Tables[:3:3], &policy.Table{
			Name:   policy.Name{Schema: "public", Relation: "x"},
			Public: true,
		})
		mustSay(t, check(t, &changed), c.want)
		pgservertest.Exec(t, dsn, "DROP "+c.kind+" x")
	}
}

func problemsOf(f *Findings) string {
	if err := f.Err(); err != nil {
		return err.Error()
	}
	return ""
}

// dropSQL drops whatever a case made.
const dropSQL = `DO $$ DECLARE name text; kind text; BEGIN
	IF EXISTS (SELECT FROM pg_inherits WHERE inhparent = to_regclass('x') AND inhrelid = 'patients'::regclass) THEN ALTER TABLE patients NO INHERIT x; END IF;
	FOREACH name IN ARRAY ARRAY['x', 'y', 'z', 'access_log'] LOOP
		SELECT CASE relkind WHEN 'f' THEN 'FOREIGN TABLE' WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE 'TABLE' END INTO kind FROM pg_class WHERE oid = to_regclass(name);
		IF FOUND THEN EXECUTE 'DROP ' || kind || ' ' || name || ' CASCADE'; END IF;
	END LOOP;
	ALTER TABLE wards DROP COLUMN IF EXISTS chief;
	ALTER TABLE patients DROP CONSTRAINT IF EXISTS patients_id_fkey, DROP CONSTRAINT IF EXISTS patients_id_age_key CASCADE;
END $$`

// TestNotesOfOMOP makes the extracts of clinical notes public, in a database without foreign keys: serve refuses,
// whether or not the policy lists the notes themselves, until the policy says that they are nobody's.
func TestNotesOfOMOP(t *testing.T) {
	schema, err := os.ReadFile("../initpolicy/testdata/schemas/omop.sql")
	if err != nil {
		t.Fatal(err)
	}
	s, name := pgservertest.Database(t, string(schema))
	conn, err := pgx.Connect(context.Background(), s.DSN(name, pgserver.Superuser))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	person := &policy.Table{Name: policy.Name{Schema: "public", Relation: "person"}, Unit: &policy.Unit{
		Name: "person", Column: "person_id",
	}}
	for _, c := range []struct {
		table     string
		nobody    bool
		want      string // the problem; empty: none
		suspected string
	}{
		{"note_nlp", false, "note_id has the name and type of the key of note", "snippet is free text"},
		{"note_nlp", true, "", ""},
		{"cost", false, "payer_plan_period_id has the name and type of the key of payer_plan_period", "cost_event_id"},
		{"episode_event", false, "episode_id has the name and type of the key of episode", "event_id"},
		{"cohort", false, "", "subject_id says subject"},
		{"fact_relationship", false, "", "fact_id_1"},
		{"concept", false, "", ""},
		{"vocabulary", false, "", ""},
	} {
		public := &policy.Table{
			Name: policy.Name{Schema: "public", Relation: c.table}, Public: true,
			RefersToNobody: c.nobody,
		}
		p := &policy.Policy{Tables: []*policy.Table{person, public}}
		found := &Findings{policy: p}
		check := &liveCheck{policy: p, main: &connection{"main", conn}, found: found}
		if err := check.checkPeople(context.Background()); err != nil {
			t.Fatal(err)
		}
		for _, said := range []struct{ got, want string }{
			{problemsOf(found), c.want},
			{strings.Join(found.Suspects, "\n"), c.suspected},
		} {
			if !strings.Contains(said.got, said.want) || said.want == "" && said.got != "" {
				t.Errorf("%s (false: %v) says %q, want %q", c.table, c.nobody, said.got, said.want)
			}
		}
	}
}
