package command

import (
	"math"
	"reflect"
	"testing"

	pg_query "github.com/pganalyze/pg_query_go/v6"
)

func of(t *testing.T, sql string) (Command, bool) {
	t.Helper()
	tree, err := pg_query.Parse(sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return Of(tree.Stmts[0].Stmt, sql)
}

func text(s string) *string { return &s }
func flag(b bool) *bool     { return &b }

func TestCommands(t *testing.T) {
	for sql, want := range map[string]Command{
		"BEGIN":                            Begin{},
		"begin work read only, deferrable": Begin{Modes: Modes{ReadOnly: flag(true), Deferrable: flag(true)}},
		"COPY (SELECT ')' || (1) /* ) */) TO STDOUT": Copy{
			SQL: "SELECT ')' || (1) /* ) */", Offset: 6,
			CopyOptions: CopyOptions{Delimiter: '\t', Quote: '"', Escape: '"', Null: `\N`},
		},
		"COPY s.t (a, \"B\") TO STDOUT": Copy{
			SQL: `SELECT "a", "B" FROM "s"."t"`, Offset: Elsewhere,
			CopyOptions: CopyOptions{Delimiter: '\t', Quote: '"', Escape: '"', Null: `\N`},
		},
		"COPY ( VALUES (1)) TO STDOUT CSV HEADER NULL 'x'": Copy{
			SQL: "VALUES (1)", Offset: 7,
			CopyOptions: CopyOptions{Format: CopyCSV, Delimiter: ',', Quote: '"', Escape: '"', Null: "x", Header: true},
		},
		"START TRANSACTION ISOLATION LEVEL SERIALIZABLE READ WRITE": Begin{
			Start: true, Modes: Modes{Isolation: "serializable", ReadOnly: flag(false)},
		},
		"COMMIT":                      Commit{},
		"END AND CHAIN":               Commit{Chain: true},
		"ROLLBACK AND NO CHAIN":       Rollback{},
		"ABORT AND CHAIN":             Rollback{Chain: true},
		"SAVEPOINT a":                 Savepoint{Name: "a"},
		"RELEASE a":                   Release{Name: "a"},
		`ROLLBACK TO SAVEPOINT "A b"`: RollbackTo{Name: "A b"},
		"SET TRANSACTION READ ONLY":   SetTransaction{Modes: Modes{ReadOnly: flag(true)}},
		"SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ": SetTransaction{
			Modes: Modes{Isolation: "repeatable read"}, Session: true,
		},
		"SET DateStyle TO ISO, DMY":                      Set{Name: "datestyle", Value: "iso, dmy"},
		"SET DateStyle TO 'ISO, DMY'":                    Set{Name: "datestyle", Value: "ISO, DMY"},
		"SET LOCAL statement_timeout = 5":                Set{Name: "statement_timeout", Value: "5", Local: true},
		"SET x.y TO DEFAULT":                             Set{Name: "x.y", Default: true},
		"SET search_path = a, \"B c\", public, '1'":      Set{Name: "search_path", Value: `a, "B c", public, "1"`},
		"SET search_path = ''":                           Set{Name: "search_path", Value: `""`},
		"SET TIME ZONE 'UTC'":                            Set{Name: "timezone", Value: "UTC"},
		"SET TIME ZONE -3.5":                             Set{Name: "timezone", Value: "-3.5"},
		"SET TIME ZONE LOCAL":                            Set{Name: "timezone", Default: true},
		"SET TIME ZONE INTERVAL '+00:00' HOUR TO MINUTE": Set{Name: "timezone", Value: "INTERVAL '+00:00'"},
		"SET NAMES 'UTF8'":                               Set{Name: "client_encoding", Value: "UTF8"},
		"SET dpproxy.epsilon = 0.2":                      Set{Name: "dpproxy.epsilon", Value: "0.2"},
		"SET enable_seqscan = on":                        Set{Name: "enable_seqscan", Value: "on"},
		"RESET ALL":                                      Reset{},
		"RESET TIME ZONE":                                Reset{Name: "timezone"},
		"SHOW ALL":                                       Show{Name: "all"},
		"SHOW TRANSACTION ISOLATION LEVEL":               Show{Name: "transaction_isolation"},
		"SHOW SESSION AUTHORIZATION":                     Show{Name: "session_authorization"},
		"SET ROLE bob":                                   Role{Setting: "role", Name: "bob"},
		"SET ROLE NONE":                                  Role{Setting: "role"},
		"RESET ROLE":                                     Role{Setting: "role"},
		"SET SESSION AUTHORIZATION DEFAULT":              Role{Setting: "session_authorization"},
		"SET SESSION AUTHORIZATION bob":                  Role{Setting: "session_authorization", Name: "bob"},
		"DISCARD ALL":                                    Discard{What: "ALL"},
		"DO $$\n BEGIN\n  PERFORM * FROM pg_listening_channels() LIMIT 1;\n IF FOUND THEN\n UNLISTEN *;\n END IF;\n END;\n$$": DoUnlisten{},
		"DISCARD PLANS":         Discard{What: "PLANS"},
		"DISCARD SEQUENCES":     Discard{What: "SEQUENCES"},
		"DISCARD TEMPORARY":     Discard{What: "TEMP"},
		"PREPARE p AS SELECT 1": Prepare{Name: "p", SQL: "SELECT 1", Offset: 13},
		"PREPARE p (int, pg_catalog.text, float[]) AS\n  SELECT 1 AS a": Prepare{
			Name:  "p",
			Types: []Type{{Name: "int4", At: 12}, {Name: "text", At: 17}, {Name: "float8", Array: true, At: 34}},
			SQL:   "SELECT 1 AS a", Offset: 47,
		},
		`PREPARE "as" AS SELECT 1`:         Prepare{Name: "as", SQL: "SELECT 1", Offset: 16},
		"/* é AS */ PREPARE p AS SELECT 1": Prepare{Name: "p", SQL: "SELECT 1", Offset: 24},
		"EXECUTE p":                        Execute{Name: "p"},
		"EXECUTE p(1, -2.5, 'a''b', NULL, true, 'x'::text, - '3'::int)": Execute{
			Name: "p",
			Args: []*string{text("1"), text("-2.5"), text("a'b"), nil, text("true"), text("x"), text("-3")},
		},
		"EXECUTE p(now())":              Execute{Name: "p", Query: "SELECT    now()"},
		`EXECUTE "é(" (1, (2 + 3))`:     Execute{Name: "é(", Query: "SELECT        1, (2 + 3)"},
		"DEALLOCATE p":                  Deallocate{Name: "p"},
		"DEALLOCATE PREPARE ALL":        Deallocate{},
		"DECLARE c CURSOR FOR SELECT 1": Declare{Name: "c", SQL: "SELECT 1", Offset: 21},
		"DECLARE c BINARY INSENSITIVE SCROLL CURSOR WITH HOLD FOR SELECT substring(a FOR 2)": Declare{
			Name: "c", Binary: true, Scroll: ScrollYes, Hold: true,
			SQL: "SELECT substring(a FOR 2)", Offset: 57,
		},
		"DECLARE c NO SCROLL CURSOR WITHOUT HOLD FOR VALUES (1)": Declare{
			Name: "c", Scroll: ScrollNo, SQL: "VALUES (1)",
			Offset: 44,
		},
		"FETCH c":                       Fetch{Name: "c", Count: 1},
		"FETCH NEXT FROM c":             Fetch{Name: "c", Count: 1},
		"FETCH PRIOR IN c":              Fetch{Name: "c", Direction: Backward, Count: 1},
		"FETCH FIRST c":                 Fetch{Name: "c", Direction: Absolute, Count: 1},
		"FETCH LAST c":                  Fetch{Name: "c", Direction: Absolute, Count: -1},
		"FETCH ABSOLUTE -3 c":           Fetch{Name: "c", Direction: Absolute, Count: -3},
		"FETCH RELATIVE 0 c":            Fetch{Name: "c", Direction: Relative},
		"FETCH -5 c":                    Fetch{Name: "c", Count: -5},
		"FETCH ALL c":                   Fetch{Name: "c", Count: math.MaxInt64, All: true},
		"MOVE BACKWARD ALL IN c":        Fetch{Name: "c", Direction: Backward, Count: math.MaxInt64, All: true, Move: true},
		"CLOSE c":                       CloseCursor{Name: "c"},
		"CLOSE ALL":                     CloseCursor{},
		"LISTEN a":                      Listen{Channel: "a"},
		"UNLISTEN *":                    Unlisten{},
		"NOTIFY a, 'b'":                 Notify{Channel: "a"},
		"SET CONSTRAINTS ALL IMMEDIATE": Constraints{},
		"SELECT set_config('jit', 'off', false)": Functions{Calls: []Call{{
			Function: "set_config", Column: "set_config",
			Args: []Arg{{Value: text("jit")}, {Value: text("off")}, {Value: text("false")}},
		}}},
		"SELECT current_setting('jit') AS cur, pg_catalog.set_config('jit', $1::text, false) AS new": Functions{Calls: []Call{
			{Function: "current_setting", Column: "cur", Args: []Arg{{Value: text("jit")}}},
			{Function: "set_config", Column: "new", Args: []Arg{{Value: text("jit")}, {Parameter: 1}, {Value: text("false")}}},
		}},
		"SELECT pg_advisory_unlock_all()": Functions{Calls: []Call{
			{Function: "pg_advisory_unlock_all", Column: "pg_advisory_unlock_all"},
		}},
	} {
		got, ok := of(t, sql)
		if !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s\ngot  %#v\nwant %#v", sql, got, want)
		}
	}
}

// TestQueries are the engine's, however much they look like commands.
func TestQueries(t *testing.T) {
	for _, sql := range []string{
		"SELECT 1", "VALUES (1)", "TABLE t", "WITH a AS (SELECT 1) SELECT * FROM a", "EXPLAIN SELECT 1",
		"EXPLAIN (FORMAT JSON) SELECT 1",
		"SELECT set_config('a', 'b', false) FROM t", "SELECT set_config('a', b, false)",
		"SELECT set_config('a', 'b', false), 1",
		"SELECT set_config('a', 'b')", "SELECT other.set_config('a', 'b', false)",
		"SELECT set_config('a', 'b', false) WHERE true",
		"SELECT current_setting('a')::int", "SELECT set_config(VARIADIC ARRAY['a'])", "SELECT pg_advisory_lock(1)", "SELECT",
		"SELECT current_setting((SELECT name FROM patients))", "SELECT set_config('a', 'b', false) UNION SELECT 'x'",
		"SELECT set_config('a','b',false) INTO x",
		"SELECT DISTINCT set_config('a','b',false)", "WITH x AS (SELECT 1) SELECT set_config('a','b',false)",
		"SELECT set_config('a','b',false) LIMIT 1",
	} {
		if got, ok := of(t, sql); ok {
			t.Errorf("%s is %#v, want the engine's", sql, got)
		}
	}
}

func TestRefusals(t *testing.T) {
	for sql, code := range map[string]string{
		"COPY t TO '/tmp/x'":                                    "42501",
		"COPY (SELECT 1) TO '/tmp/x'":                           "42501",
		"COPY (SELECT 1) TO PROGRAM 'x'":                        "42501",
		"COPY t FROM PROGRAM 'x'":                               "42501",
		"INSERT INTO t VALUES (1)":                              "42501",
		"UPDATE t SET a = 1":                                    "42501",
		"DELETE FROM t":                                         "42501",
		"MERGE INTO t USING u ON true WHEN MATCHED THEN DELETE": "42501",
		"WITH x AS (DELETE FROM t RETURNING *) INSERT INTO u SELECT * FROM x": "42501",
		"TRUNCATE t":                      "42501",
		"LOCK TABLE t":                    "42501",
		"VACUUM t":                        "42501",
		"ANALYZE t":                       "42501",
		"CREATE TABLE t (a int)":          "42501",
		"CREATE TEMP TABLE t AS SELECT 1": "42501",
		"CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'": "42501",
		"DROP TABLE t":                     "42501",
		"ALTER TABLE t ADD b int":          "42501",
		"ALTER SYSTEM SET x = 1":           "42501",
		"GRANT SELECT ON t TO bob":         "42501",
		"REFRESH MATERIALIZED VIEW v":      "42501",
		"CHECKPOINT":                       "42501",
		"LOAD 'x'":                         "42501",
		"DO LANGUAGE plpgsql 'UNLISTEN *'": "0A000",
		"DO 'BEGIN END'":                   "0A000",
		"CALL p()":                         "0A000",
		"PREPARE TRANSACTION 'x'":          "0A000",
		"COMMIT PREPARED 'x'":              "0A000",
		"SET TRANSACTION SNAPSHOT 'x'":     "0A000",
		"EXPLAIN EXECUTE p":                "0A000",
		"EXPLAIN (FORMAT JSON) DECLARE c CURSOR FOR SELECT 1": "0A000",
		"EXECUTE p($1)":                                  "0A000",
		"EXECUTE p((SELECT 1))":                          "0A000",
		"PREPARE p(setof int) AS SELECT 1":               "0A000",
		"SET application_name = a, b":                    "22023",
		"DECLARE c NO SCROLL SCROLL CURSOR FOR SELECT 1": "42601",
	} {
		got, ok := of(t, sql)
		r, refused := got.(Refused)
		if !ok || !refused || r.Err.Code != code || r.Err.Message == "" {
			t.Errorf("%s: %#v, want a refusal with %s", sql, got, code)
		}
	}
}
