package command

import (
	"testing"

	pg_query "github.com/pganalyze/pg_query_go/v6"
)

func TestWord(t *testing.T) {
	for sql, want := range map[string]string{
		"/* a */ (SELECT 1)": "SELECT", "WITH a AS (SELECT 1) TABLE a": "SELECT", "VALUES (1)": "SELECT",
		"EXPLAIN SELECT 1":  "EXPLAIN",
		"START TRANSACTION": "BEGIN", "END": "COMMIT", "ABORT": "ROLLBACK", "SAVEPOINT a": "SAVEPOINT",
		"RELEASE a": "SAVEPOINT", "PREPARE TRANSACTION 'a'": "",
		"SET a = 1": "SET", "RESET ALL": "SET", "SET CONSTRAINTS ALL DEFERRED": "SET", "SHOW a": "SHOW",
		"DISCARD ALL":           "DISCARD",
		"PREPARE a AS SELECT 1": "PREPARE", "EXECUTE a": "EXECUTE", "DEALLOCATE a": "DEALLOCATE",
		"DECLARE a CURSOR FOR SELECT 1": "DECLARE", "MOVE a": "FETCH", "CLOSE a": "CLOSE",
		"COPY (SELECT 1) TO STDOUT": "COPY", "LISTEN a": "LISTEN", "UNLISTEN *": "UNLISTEN", "NOTIFY a": "NOTIFY",
		"DO 'a'": "DO", "CALL a()": "CALL",
		"INSERT INTO a VALUES (1)": "INSERT", "UPDATE a SET b = 1": "UPDATE", "DELETE FROM a": "DELETE",
		"TRUNCATE a": "TRUNCATE",
		"MERGE INTO a USING b ON true WHEN MATCHED THEN DELETE": "MERGE",
		"CREATE TABLE a ()": "CREATE TABLE", "CREATE TABLE a AS SELECT 1": "CREATE TABLE", "ALTER TABLE a ADD b int": "",
	} {
		tree, err := pg_query.Parse(sql)
		if err != nil {
			t.Fatal(err)
		}
		if got := Word(tree.Stmts[0].Stmt); got != want {
			t.Errorf("%s: %q, want %q", sql, got, want)
		}
	}
}
