package session

import "testing"

// TestExtendedProtocol plays the messages of drivers.
func TestExtendedProtocol(t *testing.T) {
	for _, c := range []struct{ name, transcript string }{
		{"Parse, Bind, Describe, Execute, Sync", `
			> P s SELECT counts(2)
			> B p s
			> DS s
			t []
			T x:25
			> DP p
			T x:25
			> E p 0
			charge SELECT counts(2)
			run SELECT counts(2)
			D 1
			D 2
			N NOTICE epsilon spent
			C SELECT 2
			> S
			Z I`},
		{"the unnamed statement and portal", `
			> P _ SELECT counts(1)
			> B _ _
			> DP _
			T x:25
			> E _ 0
			charge SELECT counts(1)
			run SELECT counts(1)
			D 1
			N NOTICE epsilon spent
			C SELECT 1
			> S
			Z I
			> B _ _
			> E _ 0
			charge SELECT counts(1)
			run SELECT counts(1)
			D 1
			N NOTICE epsilon spent
			C SELECT 1
			> S
			Z I`},
		{"a portal is run in steps, and charged once", `
			> P s SELECT counts(5)
			> B p s
			> E p 2
			charge SELECT counts(5)
			run SELECT counts(5)
			D 1
			D 2
			N NOTICE epsilon spent
			s
			> E p 2
			D 3
			D 4
			s
			> E p 2
			D 5
			C SELECT 1
			> E p 2
			C SELECT 0
			> S
			Z I`},
		{"a portal suspended at its last row", `
			> P s SELECT counts(2)
			> B p s
			> E p 2
			charge SELECT counts(2)
			run SELECT counts(2)
			D 1
			D 2
			N NOTICE epsilon spent
			s
			> E p 2
			C SELECT 0
			> S
			Z I`},
		{"a portal that has ended gives no more rows", `
			> P s SELECT counts(2)
			> B p s
			> E p 0
			charge SELECT counts(2)
			run SELECT counts(2)
			D 1
			D 2
			N NOTICE epsilon spent
			C SELECT 2
			> E p 0
			C SELECT 0
			> S
			Z I`},
		{"portals end with their transaction", `
			> P s SELECT counts(2)
			> B p s
			> S
			Z I
			> E p 0
			E 34000 portal "p" does not exist
			> S
			Z I
			> Q BEGIN
			C BEGIN
			Z T
			> B p s
			> S
			Z T
			> E p 1
			charge SELECT counts(2)
			run SELECT counts(2)
			D 1
			N NOTICE epsilon spent
			s
			> S
			Z T
			> E p 1
			D 2
			s
			> S
			Z T
			> Q COMMIT
			C COMMIT
			Z I
			> E p 1
			E 34000 portal "p" does not exist
			> S
			Z I`},
		{"two portals of one statement are two charges", `
			> P s SELECT counts(1)
			> B p s
			> B q s
			> E p 0
			charge SELECT counts(1)
			run SELECT counts(1)
			D 1
			N NOTICE epsilon spent
			C SELECT 1
			> E q 0
			charge SELECT counts(1)
			run SELECT counts(1)
			D 1
			N NOTICE epsilon spent
			C SELECT 1
			> S
			Z I`},
		{"a portal that is bound and not executed costs nothing", `
			> budget 0
			> P s SELECT counts(1)
			> B p s
			> DP p
			T x:25
			> CP p
			> S
			Z I`},
		{"after an error everything is ignored until Sync", `
			> P s SELECT refused()
			E 42501 refused at 8
			> B p s
			> E p 0
			> S
			Z I
			> P s SELECT counts(1)
			> B p s
			> E p 0
			charge SELECT counts(1)
			run SELECT counts(1)
			D 1
			N NOTICE epsilon spent
			C SELECT 1
			> S
			Z I`},
		{"an error inside a block fails it; outside it does not", `
			> Q BEGIN
			C BEGIN
			Z T
			> P s SELECT fails()
			> B p s
			> E p 0
			charge SELECT fails()
			run SELECT fails()
			E XX000 private detail
			> E p 0
			> S
			Z E
			> P t SELECT 1
			E 25P02 current transaction is aborted, commands ignored until end of transaction block
			> S
			Z E
			> Q ROLLBACK
			C ROLLBACK
			Z I
			> P t SELECT 1
			> S
			Z I`},
		{"what was charged before the error stays charged", `
			> P s SELECT counts(1)
			> P f SELECT fails()
			> B p s
			> B q f
			> E p 0
			charge SELECT counts(1)
			run SELECT counts(1)
			D 1
			N NOTICE epsilon spent
			C SELECT 1
			> E q 0
			charge SELECT fails()
			run SELECT fails()
			E XX000 private detail
			> S
			Z I`},
		{"over budget", `
			> budget 1
			> P s SELECT counts(1)
			> B p s
			> E p 0
			charge SELECT counts(1)
			run SELECT counts(1)
			D 1
			N NOTICE epsilon spent
			C SELECT 1
			> B q s
			> E q 0
			E 53400 over budget
			> S
			Z I`},
		{"names", `
			> B p nosuch
			E 26000 prepared statement "nosuch" does not exist
			> S
			Z I
			> E nosuch 0
			E 34000 portal "nosuch" does not exist
			> S
			Z I
			> DS nosuch
			E 26000 prepared statement "nosuch" does not exist
			> S
			Z I
			> DP nosuch
			E 34000 portal "nosuch" does not exist
			> S
			Z I
			> P s SELECT 1
			> P s SELECT 1
			E 42P05 prepared statement "s" already exists
			> S
			Z I
			> B p s
			> B p s
			E 42P03 cursor "p" already exists
			> S
			Z I
			> CS nosuch
			> CP nosuch
			> S
			Z I`},
		{"Close", `
			> P s SELECT counts(1)
			> B p s
			> CP p
			> E p 0
			E 34000 portal "p" does not exist
			> S
			Z I
			> CS s
			> B p s
			E 26000 prepared statement "s" does not exist
			> S
			Z I`},
		{"a failed Parse drops the unnamed statement", `
			> P _ SELECT counts(1)
			> S
			Z I
			> P _ SELECT refused()
			E 42501 refused at 8
			> S
			Z I
			> B _ _
			E 26000 unnamed prepared statement does not exist
			> S
			Z I`},
		{"one statement only", `
			> P s SELECT 1; SELECT 2
			E 42601 cannot insert multiple commands into a prepared statement
			> S
			Z I
			> P s
			> B p s
			> DS s
			t []
			n
			> DP p
			n
			> E p 0
			I
			> S
			Z I`},
		{"parameters", `
			> P s 23,25: SELECT $1, $2
			> DS s
			t [25 25]
			T x:25 y:25
			> B p s 1 NULL
			> E p 0
			charge SELECT $1, $2
			run SELECT $1, $2
			D 1 | NULL
			N NOTICE epsilon spent
			C SELECT 1
			> S
			Z I
			> B p s 1
			E 08P01 bind message supplies 1 parameters, but prepared statement "s" requires 2
			> S
			Z I`},
		{"formats", `
			> P s SELECT counts(1)
			> B p s b:
			> DP p
			T x:25b
			> E p 0
			charge SELECT counts(1)
			run SELECT counts(1)
			D 1
			N NOTICE epsilon spent
			C SELECT 1
			> S
			Z I
			> B p s bb:
			E 08P01 bind message has 2 result formats but query has 1 columns
			> S
			Z I`},
		{"COPY is refused at Parse", `
			> P s COPY patients TO STDOUT
			E 42501 permission denied: COPY is not allowed through dpproxy
			> S
			Z I
			> Q BEGIN
			C BEGIN
			Z T
			> P s COPY patients FROM STDIN
			E 42501 permission denied: COPY is not allowed through dpproxy
			> S
			Z E
			> Q ROLLBACK
			C ROLLBACK
			Z I`},
		{"BEGIN and COMMIT by extended messages", `
			> P b BEGIN
			> P c COMMIT
			> B _ b
			> E _ 0
			C BEGIN
			> S
			Z T
			> P s SELECT counts(1)
			> B p s
			> E p 0
			charge SELECT counts(1)
			run SELECT counts(1)
			D 1
			N NOTICE epsilon spent
			C SELECT 1
			> B _ c
			> E _ 0
			C COMMIT
			> S
			Z I`},
		{"SET, SHOW and their descriptions", `
			> P s SET application_name = 'x'
			> DS s
			t []
			n
			> B _ s
			> DP _
			n
			> E _ 0
			C SET
			> S
			S application_name = x
			Z I
			> P t SHOW application_name
			> DS t
			t []
			T application_name:25
			> B _ t
			> DP _
			T application_name:25
			> E _ 0
			D x
			C SHOW
			> S
			Z I`},
		{"EXECUTE by extended messages becomes its query", `
			> Q PREPARE p AS SELECT counts(3)
			C PREPARE
			Z I
			> P s EXECUTE p
			> DS s
			t []
			T x:25
			> B x s
			> DP x
			T x:25
			> E x 2
			charge SELECT counts(3)
			run SELECT counts(3)
			D 1
			D 2
			N NOTICE epsilon spent
			s
			> DP x
			T x:25
			> E x 2
			D 3
			C SELECT 1
			> S
			Z I`},
		{"DECLARE with parameters, FETCH in binary", `
			> Q BEGIN
			C BEGIN
			Z T
			> P d DECLARE c CURSOR FOR SELECT $1
			> DS d
			t [25]
			n
			> B _ d 7
			> E _ 0
			C DECLARE CURSOR
			> P f FETCH ALL FROM c
			> DS f
			t []
			T x:25
			> B _ f b:
			> DP _
			T x:25b
			> E _ 0
			charge SELECT $1
			run SELECT $1
			N NOTICE epsilon spent
			D 7
			C FETCH 1
			> S
			Z T
			> Q COMMIT
			C COMMIT
			Z I`},
		{"a cursor of SQL is a portal, a portal is a cursor", `
			> Q BEGIN
			C BEGIN
			Z T
			> Q DECLARE c CURSOR FOR SELECT counts(3)
			C DECLARE CURSOR
			Z T
			> DP c
			T x:25
			> E c 2
			charge SELECT counts(3)
			run SELECT counts(3)
			D 1
			D 2
			N NOTICE epsilon spent
			s
			> S
			Z T
			> P s SELECT counts(3)
			> B q s
			> S
			Z T
			> Q FETCH 2 FROM q
			charge SELECT counts(3)
			run SELECT counts(3)
			T x:25
			N NOTICE epsilon spent
			D 1
			D 2
			C FETCH 2
			Z T
			> E q 0
			D 3
			C SELECT 1
			> S
			Z T
			> Q CLOSE q
			C CLOSE CURSOR
			Z T
			> E q 0
			E 34000 portal "q" does not exist
			> S
			Z E
			> Q ROLLBACK
			C ROLLBACK
			Z I`},
		{"functions with parameters", `
			> P s SELECT set_config('application_name', $1, $2)
			> DS s
			t [25 16]
			T set_config:25
			> B _ s x f
			> DP _
			T set_config:25
			> E _ 0
			D x
			C SELECT 1
			> S
			S application_name = x
			Z I
			> P u SELECT pg_advisory_unlock($1)
			> B _ u b: 1
			> E _ 0
			N WARNING you don't own a lock of type ExclusiveLock
			D "\x00"
			C SELECT 1
			> S
			Z I
			> P v SELECT current_setting($1)
			> B _ v binary: TimeZone
			> E _ 0
			D UTC
			C SELECT 1
			> S
			Z I`},
		{"a command runs once", `
			> P s COMMIT
			> B p s
			> E p 0
			N WARNING there is no transaction in progress
			C COMMIT
			> E p 0
			E 34000 portal "p" does not exist
			> S
			Z I`},
		{"a COMMIT that was bound before the failure does not run after it", `
			> Q BEGIN
			C BEGIN
			Z T
			> P c COMMIT
			> B p c
			> S
			Z T
			> Q SELECT fails()
			charge SELECT fails()
			T x:25
			run SELECT fails()
			E XX000 private detail
			Z E
			> E p 0
			E 25P02 current transaction is aborted, commands ignored until end of transaction block
			> S
			Z E
			> B q c
			> E q 0
			C ROLLBACK
			> S
			Z I`},
		{"a portal that a savepoint keeps", `
			> Q BEGIN
			C BEGIN
			Z T
			> P c ROLLBACK TO s
			> B p c
			> S
			Z T
			> Q SAVEPOINT s
			C SAVEPOINT
			Z T
			> B q c
			> S
			Z T
			> Q SELECT fails()
			charge SELECT fails()
			T x:25
			run SELECT fails()
			E XX000 private detail
			Z E
			> E q 0
			E 25P02 current transaction is aborted, commands ignored until end of transaction block
			> S
			Z E
			> E p 0
			C ROLLBACK
			> S
			Z T
			> Q COMMIT
			C COMMIT
			Z I`},
		{"a command without rows runs once", `
			> P s SET application_name = 'x'
			> B p s
			> E p 0
			C SET
			> E p 0
			E 55000 portal "p" cannot be run
			> S
			Z I`},
		{"SHOW in steps", `
			> P s SHOW ALL
			> DS s
			t []
			T name:25 setting:25 description:25
			> B p s
			> E p 1
			D application_name |  |
			s
			> E p 2
			D array_nulls | on |
			D backslash_quote | safe_encoding |
			s
			> S
			Z I`},
		{"the type of a parameter that a command does not have in binary", `
			> P s SELECT current_setting($1, $2)
			> B _ s binary: TimeZone yes
			E 22P03 incorrect binary data format in bind parameter 2
			> S
			Z I`},
		{"EXECUTE of what is not there, or has changed", `
			> P s EXECUTE p
			> B p s
			> E p 0
			E 26000 prepared statement "p" does not exist
			> S
			Z I
			> Q PREPARE p AS SELECT counts(1)
			C PREPARE
			Z I
			> B q s
			> Q DEALLOCATE p
			C DEALLOCATE
			Z I
			> S
			Z I`},
		{"a timeout ends what runs, and its charge stays", `
			> Q SET statement_timeout = 50
			C SET
			Z I
			> P s SELECT sleeps()
			> B p s
			> E p 0
			charge SELECT sleeps()
			run SELECT sleeps()
			E 57014 canceling statement due to statement timeout
			> S
			Z I`},
		{"PREPARE by extended messages", `
			> P s PREPARE p AS SELECT counts(1)
			> B _ s
			> E _ 0
			C PREPARE
			> S
			Z I
			> B _ p
			> E _ 0
			charge SELECT counts(1)
			run SELECT counts(1)
			D 1
			N NOTICE epsilon spent
			C SELECT 1
			> S
			Z I`},
		{"savepoints and portals", `
			> Q BEGIN
			C BEGIN
			Z T
			> P s SELECT counts(3)
			> B p s
			> E p 1
			charge SELECT counts(3)
			run SELECT counts(3)
			D 1
			N NOTICE epsilon spent
			s
			> S
			Z T
			> Q SAVEPOINT a
			C SAVEPOINT
			Z T
			> B q s
			> E q 1
			charge SELECT counts(3)
			run SELECT counts(3)
			D 1
			N NOTICE epsilon spent
			s
			> S
			Z T
			> Q ROLLBACK TO a
			C ROLLBACK
			Z T
			> E q 1
			E 34000 portal "q" does not exist
			> S
			Z E
			> Q ROLLBACK TO a
			C ROLLBACK
			Z T
			> E p 1
			D 2
			s
			> S
			Z T
			> Q COMMIT
			C COMMIT
			Z I`},
		{"a simple query drops the unnamed statement", `
			> P _ SELECT counts(1)
			> S
			Z I
			> Q SELECT 1
			charge SELECT 1
			T x:25
			run SELECT 1
			D x
			N NOTICE epsilon spent
			C SELECT 1
			Z I
			> B _ _
			E 26000 unnamed prepared statement does not exist
			> S
			Z I`},
		{"a failed block describes nothing that returns rows", `
			> P s SELECT counts(1)
			> P c COMMIT
			> S
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
			> DS s
			E 25P02 current transaction is aborted, commands ignored until end of transaction block
			> S
			Z E
			> B p s
			E 25P02 current transaction is aborted, commands ignored until end of transaction block
			> S
			Z E
			> DS c
			t []
			n
			> B p c
			> E p 0
			C ROLLBACK
			> S
			Z I`},
	} {
		t.Run(c.name, func(t *testing.T) { play(t, c.transcript) })
	}
}
