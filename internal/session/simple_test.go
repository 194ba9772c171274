package session

import "testing"

// TestSimpleQueries plays texts of one or more statements.
func TestSimpleQueries(t *testing.T) {
	for _, c := range []struct{ name, transcript string }{
		{"one statement", `
			> Q SELECT rows(1, 1)
			charge SELECT rows(1, 1)
			T x:25
			run SELECT rows(1, 1)
			D x
			N NOTICE epsilon spent
			C SELECT 1
			Z I`},
		{"a statement that runs longer than statement_timeout", `
			> Q SET statement_timeout = 50
			C SET
			Z I
			> Q SELECT sleeps()
			charge SELECT sleeps()
			T x:25
			run SELECT sleeps()
			E 57014 canceling statement due to statement timeout
			Z I
			> Q BEGIN
			C BEGIN
			Z T
			> Q SELECT sleeps(); SELECT 1
			charge SELECT sleeps()
			T x:25
			run SELECT sleeps()
			E 57014 canceling statement due to statement timeout
			Z E
			> Q ROLLBACK
			C ROLLBACK
			Z I`},
		{"an empty text", `
			> Q
			I
			Z I
			> Q ;
			I
			Z I`},
		{"several statements run one after the other", `
			> Q SELECT rows(1, 1); SELECT rows(2, 3)
			charge SELECT rows(1, 1)
			T x:25
			run SELECT rows(1, 1)
			D x
			N NOTICE epsilon spent
			C SELECT 1
			charge SELECT rows(2, 3)
			T x:25
			run SELECT rows(2, 3)
			D xxx
			D xxx
			N NOTICE epsilon spent
			C SELECT 2
			Z I`},
		{"a refusal ends the text", `
			> Q SELECT rows(1, 1); SELECT refused()
			charge SELECT rows(1, 1)
			T x:25
			run SELECT rows(1, 1)
			D x
			N NOTICE epsilon spent
			C SELECT 1
			E 42501 refused at 27
			Z I
			> Q SHOW application_name
			T application_name:25
			D
			C SHOW
			Z I`},
		{"a refusal has its position in the whole text", `
			> Q SELECT rows(0, 1);  SELECT refused()
			charge SELECT rows(0, 1)
			T x:25
			run SELECT rows(0, 1)
			N NOTICE epsilon spent
			C SELECT 0
			E 42501 refused at 28
			Z I`},
		{"a syntax error refuses the text", `
			> Q SELECT rows(1, 1); SELEC
			E 42601 syntax error at or near "SELEC"
			Z I`},
		{"the budget ends within a text", `
			> budget 1
			> Q SELECT rows(1, 1); SELECT rows(1, 1)
			charge SELECT rows(1, 1)
			T x:25
			run SELECT rows(1, 1)
			D x
			N NOTICE epsilon spent
			C SELECT 1
			E 53400 over budget
			Z I
			> Q SELECT rows(1, 1)
			E 53400 over budget
			Z I
			> Q SELECT rows(1, 1)
			E 53400 over budget
			Z I`},
		{"a statement that fails ends the text", `
			> Q SELECT rows(1, 1); SELECT fails(); SELECT rows(1, 1)
			charge SELECT rows(1, 1)
			T x:25
			run SELECT rows(1, 1)
			D x
			N NOTICE epsilon spent
			C SELECT 1
			charge SELECT fails()
			T x:25
			run SELECT fails()
			E XX000 private detail
			Z I`},
		{"rows before a failure are sent", `
			> Q SELECT breaks(2)
			charge SELECT breaks(2)
			T x:25
			run SELECT breaks(2)
			D x
			D x
			E 22012 division by zero at 8
			Z I
			> Q BEGIN
			C BEGIN
			Z T
			> Q SELECT breaks(2)
			charge SELECT breaks(2)
			T x:25
			run SELECT breaks(2)
			D x
			D x
			E 22012 division by zero at 8
			Z E
			> Q SELECT rows(1, 1)
			E 25P02 current transaction is aborted, commands ignored until end of transaction block
			Z E
			> Q ROLLBACK
			C ROLLBACK
			Z I`},
		{"a parameter that nobody can bind", `
			> Q SELECT $1
			E 42P02 there is no parameter $1 at 8
			Z I
			> Q SELECT rows(1, 1); SELECT $1
			charge SELECT rows(1, 1)
			T x:25
			run SELECT rows(1, 1)
			D x
			N NOTICE epsilon spent
			C SELECT 1
			E 42P02 there is no parameter $1 at 27
			Z I`},
		{"COPY of a table is refused", `
			> Q COPY patients TO STDOUT
			E 42501 permission denied: COPY is not allowed through dpproxy
			Z I
			> Q SELECT rows(1, 1); COPY patients FROM STDIN
			charge SELECT rows(1, 1)
			T x:25
			run SELECT rows(1, 1)
			D x
			N NOTICE epsilon spent
			C SELECT 1
			E 42501 permission denied: COPY is not allowed through dpproxy
			Z I
			> Q BEGIN
			C BEGIN
			Z T
			> Q COPY (INSERT INTO t VALUES (1) RETURNING a) TO STDOUT
			E 42501 permission denied: INSERT is not allowed through dpproxy
			Z E
			> Q SELECT rows(1, 1)
			E 25P02 current transaction is aborted, commands ignored until end of transaction block
			Z E
			> Q END
			C ROLLBACK
			Z I`},
		{"COPY of a query sends its rows", `
			> Q COPY (SELECT counts(2)) TO STDOUT
			charge SELECT counts(2)
			H 0 1
			run SELECT counts(2)
			d "1\n"
			d "2\n"
			c
			N NOTICE epsilon spent
			C COPY 2
			Z I
			> Q COPY (SELECT refused()) TO STDOUT
			E 42501 refused at 14
			Z I
			> Q COPY (SELECT breaks(1)) TO STDOUT
			charge SELECT breaks(1)
			H 0 1
			run SELECT breaks(1)
			d "x\n"
			E 22012 division by zero at 14
			Z I
			> budget 0
			> Q COPY (SELECT counts(2)) TO STDOUT
			E 53400 over budget
			Z I
			> Q COPY (SELECT $1) TO STDOUT
			E 42P02 there is no parameter $1 at 14
			Z I
			> Q COPY (SELECT set_config('application_name', 'x', false)) TO STDOUT
			E 0A000 only queries can be prepared, declared or copied this way
			Z I`},
		{"what changes data or schema is refused", `
			> Q INSERT INTO t VALUES (1)
			E 42501 permission denied: INSERT is not allowed through dpproxy
			Z I
			> Q DELETE FROM t
			E 42501 permission denied: DELETE is not allowed through dpproxy
			Z I
			> Q UPDATE t SET x = 1
			E 42501 permission denied: UPDATE is not allowed through dpproxy
			Z I
			> Q CREATE TABLE t (x int)
			E 42501 permission denied: CREATE TABLE is not allowed through dpproxy
			Z I
			> Q DROP TABLE t
			E 42501 permission denied: this statement is not allowed through dpproxy
			Z I
			> Q TRUNCATE t
			E 42501 permission denied: TRUNCATE is not allowed through dpproxy
			Z I
			> Q DO $$ BEGIN END $$
			E 0A000 DO is not supported through dpproxy
			Z I
			> Q LOCK TABLE t
			E 42501 permission denied: LOCK is not allowed through dpproxy
			Z I
			> Q VACUUM
			E 42501 permission denied: VACUUM is not allowed through dpproxy
			Z I`},
		{"LISTEN and its kin change nothing", `
			> Q LISTEN a
			C LISTEN
			Z I
			> Q NOTIFY a
			C NOTIFY
			Z I
			> Q UNLISTEN *
			C UNLISTEN
			Z I
			> Q SET CONSTRAINTS ALL DEFERRED
			N WARNING SET CONSTRAINTS can only be used in transaction blocks
			C SET CONSTRAINTS
			Z I
			> Q BEGIN; SET CONSTRAINTS ALL IMMEDIATE; COMMIT
			C BEGIN
			C SET CONSTRAINTS
			C COMMIT
			Z I`},
		{"functions of the session", `
			> Q SELECT set_config('application_name', 'x', false), current_setting('application_name')
			T set_config:25 current_setting:25
			D x | x
			C SELECT 1
			S application_name = x
			Z I
			> Q SELECT current_setting('no.such', true)
			T current_setting:25
			D NULL
			C SELECT 1
			Z I
			> Q SELECT current_setting('nosuch')
			T current_setting:25
			E 42704 unrecognized configuration parameter "nosuch"
			Z I
			> Q SELECT pg_advisory_unlock(1)
			T pg_advisory_unlock:16
			N WARNING you don't own a lock of type ExclusiveLock
			D f
			C SELECT 1
			Z I
			> Q SELECT pg_advisory_unlock_all()
			T pg_advisory_unlock_all:2278
			D
			C SELECT 1
			Z I
			> Q SELECT set_config('work_mem', '1', false)
			T set_config:25
			E 22023 1 kB is outside the valid range for parameter "work_mem" (64 .. 2147483647)
			Z I
			> Q SELECT set_config('role', 'postgres', false)
			T set_config:25
			E 42501 permission denied to set role "postgres"
			Z I
			> Q SELECT set_config('role', 'none', false)
			T set_config:25
			D none
			C SELECT 1
			Z I`},
	} {
		t.Run(c.name, func(t *testing.T) { play(t, c.transcript) })
	}
}
