package wire_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// sessionStatements are what a session answers by itself, and the queries that it needs for that. A word in braces is
// replaced by one of its alternatives.
var sessionStatements = []string{
	"BEGIN", "BEGIN", "BEGIN", "START TRANSACTION READ ONLY", "COMMIT", "ROLLBACK", "COMMIT AND CHAIN",
	"ROLLBACK AND CHAIN",
	"SAVEPOINT {name}", "SAVEPOINT {name}", "RELEASE {name}", "ROLLBACK TO {name}", "ROLLBACK TO {name}",
	"SET application_name = '{name}'", "SET LOCAL application_name = '{name}'", "RESET application_name",
	"SHOW application_name",
	"SET statement_timeout = '{number}min'", "SHOW statement_timeout", "RESET ALL", "SET nosuch = 1",
	"SET IntervalStyle = {style}", "SET DateStyle = {datestyle}",
	"SELECT set_config('application_name', '{name}', {bool})",
	"SET TRANSACTION READ ONLY", "SET TRANSACTION READ WRITE", "SET TRANSACTION ISOLATION LEVEL {level}",
	"SET TRANSACTION NOT DEFERRABLE",
	"SET transaction_read_only = {bool}", "SET TRANSACTION ISOLATION LEVEL {level}, READ ONLY",
	"SHOW transaction_read_only", "SET default_transaction_read_only = {bool}", "SHOW default_transaction_read_only",
	"SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE", "SHOW transaction_isolation",
	"SET transaction_isolation = 'repeatable read'",
	"DECLARE {name} SCROLL CURSOR FOR {query}", "DECLARE {name} SCROLL CURSOR FOR {query}",
	"DECLARE {name} SCROLL CURSOR WITH HOLD FOR {query}",
	"DECLARE {name} NO SCROLL CURSOR FOR {query}",
	"FETCH {name}", "FETCH {number} FROM {name}", "FETCH -{number} FROM {name}", "FETCH ABSOLUTE {number} FROM {name}",
	"FETCH ABSOLUTE -{number} FROM {name}",
	"FETCH RELATIVE {number} FROM {name}", "FETCH RELATIVE -{number} FROM {name}", "FETCH ALL FROM {name}",
	"FETCH BACKWARD ALL FROM {name}",
	"FETCH PRIOR FROM {name}", "FETCH FIRST FROM {name}", "FETCH LAST FROM {name}", "MOVE {number} FROM {name}",
	"MOVE BACKWARD {number} FROM {name}",
	"MOVE ALL FROM {name}", "CLOSE {name}", "CLOSE ALL",
	"PREPARE {name} AS {query}", "EXECUTE {name}", "EXECUTE {name}(1)", "DEALLOCATE {name}", "DEALLOCATE ALL",
	"PREPARE p AS SELECT $1::int4 AS v", "EXECUTE p({number})", "DISCARD ALL", "LISTEN {name}", "UNLISTEN *",
	"SET CONSTRAINTS ALL DEFERRED",
	"SELECT 1 AS one", "SELECT nosuch", "SELECT 10/(2-n) AS q FROM generate_series(1,2) n", "",
}

var sessionWords = [][]string{
	{"{name}", "a", "b"},
	{"{number}", "0", "1", "2", "3", "9"},
	{"{bool}", "true", "false"},
	{"{level}", "SERIALIZABLE", "READ COMMITTED"},
	{"{style}", "postgres", "iso_8601", "nonsense"},
	{"{datestyle}", "ISO", "'SQL, DMY'", "German", "YMD", "'ISO, SQL'"},
	{"{query}", sqlFive, sqlFive, sqlOne, "SELECT n FROM generate_series(1, 0) AS n"},
}

func drawStatement(r *rand.Rand) string {
	sql := sessionStatements[r.IntN(len(sessionStatements))]
	for _, word := range sessionWords {
		if strings.Contains(sql, word[0]) {
			sql = strings.ReplaceAll(sql, word[0], word[1+r.IntN(len(word)-1)])
		}
	}
	return sql
}

// TestTwinSessions sends the same random statements to dpproxy and to PostgreSQL, one by one, by the simple or the
// extended protocol, and compares everything that comes back.
func TestTwinSessions(t *testing.T) {
	connect := postgres(t)
	server := startServer(t, nil)
	const conversations, statements = 150, 50
	for seed := range conversations {
		r := rand.New(rand.NewPCG(uint64(seed), 0))
		ours, theirs := login(t, server.addr, "alice", "db", "secret", "TimeZone", "UTC"), connect()
		var sent []string
		for range statements {
			sql, extended := drawStatement(r), r.IntN(2) == 0
			sent = append(sent, sql)
			got, want := twin(t, ours, sql, extended), twin(t, theirs, sql, extended)
			if !slices.Equal(got, want) {
				t.Errorf("seed %d, extended %v: %s\ndpproxy    %q\nPostgreSQL %q", seed, extended, strings.Join(sent, "; "), got,
					want)
				break
			}
		}
		ours.conn.Close()
		theirs.conn.Close()
	}
}

func twin(t *testing.T, c *client, sql string, extended bool) []string {
	if extended {
		c.send(t, &pgproto3.Parse{Query: sql}, &pgproto3.Bind{}, &pgproto3.Describe{ObjectType: 'P'}, &pgproto3.Execute{},
			&pgproto3.Sync{})
		return c.until(t, "ReadyForQuery", 1)
	}
	return c.ask(t, sql)
}
