package session

import "testing"

// TestPreparedStatements plays PREPARE, EXECUTE and DEALLOCATE.
func TestPreparedStatements(t *testing.T) {
	for _, c := range []struct{ name, transcript string }{
		{"PREPARE, EXECUTE, DEALLOCATE", `
			> Q PREPARE p AS SELECT rows(2, 1)
			C PREPARE
			Z I
			> Q EXECUTE p
			charge SELECT rows(2, 1)
			T x:25
			run SELECT rows(2, 1)
			D x
			D x
			N NOTICE epsilon spent
			C SELECT 2
			Z I
			> Q EXECUTE p
			charge SELECT rows(2, 1)
			T x:25
			run SELECT rows(2, 1)
			D x
			D x
			N NOTICE epsilon spent
			C SELECT 2
			Z I
			> Q DEALLOCATE p
			C DEALLOCATE
			Z I
			> Q EXECUTE p
			E 26000 prepared statement "p" does not exist
			Z I
			> Q DEALLOCATE p
			E 26000 prepared statement "p" does not exist
			Z I
			> Q DEALLOCATE ALL
			C DEALLOCATE ALL
			Z I`},
		{"arguments", `
			> Q PREPARE p (int, text) AS SELECT $1, $2
			C PREPARE
			Z I
			> Q EXECUTE p (1, 'x')
			charge SELECT $1, $2
			T x:25 y:25
			run SELECT $1, $2
			D 1 | x
			N NOTICE epsilon spent
			C SELECT 1
			Z I
			> Q EXECUTE p (1)
			E 42601 wrong number of parameters for prepared statement "p"
			Z I
			> Q EXECUTE p
			E 42601 wrong number of parameters for prepared statement "p"
			Z I
			> Q EXECUTE p (1, NULL)
			charge SELECT $1, $2
			T x:25 y:25
			run SELECT $1, $2
			D 1 | NULL
			N NOTICE epsilon spent
			C SELECT 1
			Z I`},
		{"arguments that are computed", `
			> Q PREPARE p AS SELECT $1
			C PREPARE
			Z I
			> Q EXECUTE p (1 + 1)
			charge SELECT     1 + 1
			run SELECT     1 + 1
			charge SELECT $1
			T x:25
			run SELECT $1
			D x
			N NOTICE epsilon spent
			C SELECT 1
			Z I
			> Q EXECUTE p ((SELECT rows(1, 1)))
			E 0A000 EXECUTE takes constants and what can be computed from constants
			Z I
			> Q EXECUTE p (refused())
			charge SELECT     refused()
			run SELECT     refused()
			E 0A000 set-returning functions are not allowed in EXECUTE parameters
			Z I
			> budget 1
			> Q EXECUTE p (2 + 2)
			charge SELECT     2 + 2
			run SELECT     2 + 2
			E 53400 over budget
			Z I`},
		{"EXECUTE charges, PREPARE does not", `
			> budget 0
			> Q PREPARE p AS SELECT rows(1, 1)
			C PREPARE
			Z I
			> Q EXECUTE p
			E 53400 over budget
			Z I
			> budget 1
			> Q EXECUTE p; SELECT 1
			charge SELECT rows(1, 1)
			T x:25
			run SELECT rows(1, 1)
			D x
			N NOTICE epsilon spent
			C SELECT 1
			E 53400 over budget
			Z I
			> budget 2
			> Q EXECUTE p; EXECUTE p
			charge SELECT rows(1, 1)
			T x:25
			run SELECT rows(1, 1)
			D x
			N NOTICE epsilon spent
			C SELECT 1
			charge SELECT rows(1, 1)
			T x:25
			run SELECT rows(1, 1)
			D x
			N NOTICE epsilon spent
			C SELECT 1
			Z I`},
		{"PREPARE and EXECUTE in one text", `
			> Q PREPARE p AS SELECT rows(1, 1); EXECUTE p
			C PREPARE
			charge SELECT rows(1, 1)
			T x:25
			run SELECT rows(1, 1)
			D x
			N NOTICE epsilon spent
			C SELECT 1
			Z I
			> Q PREPARE p AS SELECT 1
			E 42P05 prepared statement "p" already exists
			Z I
			> Q DEALLOCATE p; PREPARE p AS SELECT rows(5, 1); EXECUTE p; DEALLOCATE p
			C DEALLOCATE
			C PREPARE
			charge SELECT rows(5, 1)
			T x:25
			run SELECT rows(5, 1)
			D x
			D x
			D x
			D x
			D x
			N NOTICE epsilon spent
			C SELECT 5
			C DEALLOCATE
			Z I`},
		{"what cannot be prepared", `
			> Q PREPARE p AS SELECT refused()
			E 42501 refused at 21
			Z I
			> Q PREPARE p AS INSERT INTO t VALUES (1)
			E 42501 permission denied: INSERT is not allowed through dpproxy
			Z I
			> Q PREPARE p (nosuch) AS SELECT $1
			E 42704 type "nosuch" does not exist at 12
			Z I
			> Q PREPARE p AS SELECT 1
			C PREPARE
			Z I
			> Q PREPARE p AS SELECT 2
			E 42P05 prepared statement "p" already exists
			Z I`},
		{"statements survive a rollback", `
			> Q BEGIN
			C BEGIN
			Z T
			> Q PREPARE p AS SELECT 1
			C PREPARE
			Z T
			> Q ROLLBACK
			C ROLLBACK
			Z I
			> Q EXECUTE p
			charge SELECT 1
			T x:25
			run SELECT 1
			D x
			N NOTICE epsilon spent
			C SELECT 1
			Z I`},
		{"a failed block does not execute", `
			> Q PREPARE p AS SELECT 1
			C PREPARE
			Z I
			> Q BEGIN
			C BEGIN
			Z T
			> Q SELECT fails()
			charge SELECT fails()
			T x:25
			run SELECT fails()
			E XX000 private detail
			Z E
			> Q EXECUTE p
			E 25P02 current transaction is aborted, commands ignored until end of transaction block
			Z E
			> Q ROLLBACK
			C ROLLBACK
			Z I`},
	} {
		t.Run(c.name, func(t *testing.T) { play(t, c.transcript) })
	}
}
