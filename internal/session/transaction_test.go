package session

import "testing"

// TestTransactions plays what begins, ends and fails transactions.
func TestTransactions(t *testing.T) {
	for _, c := range []struct{ name, transcript string }{
		{"a block", `
			> Q BEGIN
			C BEGIN
			Z T
			> Q SELECT rows(1, 1)
			charge SELECT rows(1, 1)
			T x:25
			run SELECT rows(1, 1)
			D x
			N NOTICE epsilon spent
			C SELECT 1
			Z T
			> Q COMMIT
			C COMMIT
			Z I`},
		{"a failed block refuses everything until its end, and COMMIT rolls back", `
			> Q BEGIN
			C BEGIN
			Z T
			> Q SELECT fails()
			charge SELECT fails()
			T x:25
			run SELECT fails()
			E XX000 private detail
			Z E
			> Q SELECT rows(1, 1)
			E 25P02 current transaction is aborted, commands ignored until end of transaction block
			Z E
			> Q SHOW TimeZone
			E 25P02 current transaction is aborted, commands ignored until end of transaction block
			Z E
			> Q COMMIT
			C ROLLBACK
			Z I
			> Q SELECT rows(1, 1)
			charge SELECT rows(1, 1)
			T x:25
			run SELECT rows(1, 1)
			D x
			N NOTICE epsilon spent
			C SELECT 1
			Z I`},
		{"ROLLBACK gives settings back, never a charge", `
			> Q BEGIN
			C BEGIN
			Z T
			> Q SET application_name = 'x'
			C SET
			S application_name = x
			Z T
			> Q SELECT rows(1, 1)
			charge SELECT rows(1, 1)
			T x:25
			run SELECT rows(1, 1)
			D x
			N NOTICE epsilon spent
			C SELECT 1
			Z T
			> Q ROLLBACK
			C ROLLBACK
			S application_name =
			Z I
			> Q SHOW application_name
			T application_name:25
			D
			C SHOW
			Z I`},
		{"an error gives settings back at once", `
			> Q BEGIN
			C BEGIN
			Z T
			> Q SET application_name = 'x'
			C SET
			S application_name = x
			Z T
			> Q SELECT fails()
			charge SELECT fails()
			T x:25
			run SELECT fails()
			E XX000 private detail
			S application_name =
			Z E
			> Q ROLLBACK
			C ROLLBACK
			Z I`},
		{"SET LOCAL ends with the block", `
			> Q SET LOCAL application_name = 'x'
			N WARNING SET LOCAL can only be used in transaction blocks
			C SET
			Z I
			> Q BEGIN
			C BEGIN
			Z T
			> Q SET LOCAL application_name = 'y'
			C SET
			S application_name = y
			Z T
			> Q SHOW application_name
			T application_name:25
			D y
			C SHOW
			Z T
			> Q COMMIT
			C COMMIT
			S application_name =
			Z I
			> Q SHOW application_name
			T application_name:25
			D
			C SHOW
			Z I`},
		{"savepoints", `
			> Q BEGIN
			C BEGIN
			Z T
			> Q SET application_name = 'a'
			C SET
			S application_name = a
			Z T
			> Q SAVEPOINT s
			C SAVEPOINT
			Z T
			> Q SET application_name = 'b'
			C SET
			S application_name = b
			Z T
			> Q SELECT fails()
			charge SELECT fails()
			T x:25
			run SELECT fails()
			E XX000 private detail
			S application_name = a
			Z E
			> Q ROLLBACK TO s
			C ROLLBACK
			Z T
			> Q SHOW application_name
			T application_name:25
			D a
			C SHOW
			Z T
			> Q RELEASE s
			C RELEASE
			Z T
			> Q ROLLBACK TO s
			E 3B001 savepoint "s" does not exist
			S application_name =
			Z E
			> Q ROLLBACK
			C ROLLBACK
			Z I`},
		{"savepoints outside a block", `
			> Q SAVEPOINT s
			E 25P01 SAVEPOINT can only be used in transaction blocks
			Z I
			> Q RELEASE s
			E 25P01 RELEASE SAVEPOINT can only be used in transaction blocks
			Z I
			> Q ROLLBACK TO s
			E 25P01 ROLLBACK TO SAVEPOINT can only be used in transaction blocks
			Z I`},
		{"the youngest savepoint of a name counts", `
			> Q BEGIN; SAVEPOINT s; SET application_name = 'a'; SAVEPOINT s
			C BEGIN
			C SAVEPOINT
			C SET
			C SAVEPOINT
			S application_name = a
			Z T
			> Q RELEASE s
			C RELEASE
			Z T
			> Q ROLLBACK TO s
			C ROLLBACK
			S application_name =
			Z T
			> Q SHOW application_name
			T application_name:25
			D
			C SHOW
			Z T
			> Q COMMIT
			C COMMIT
			Z I`},
		{"BEGIN twice, COMMIT and ROLLBACK without", `
			> Q BEGIN
			C BEGIN
			Z T
			> Q BEGIN
			N WARNING there is already a transaction in progress
			C BEGIN
			Z T
			> Q COMMIT
			C COMMIT
			Z I
			> Q COMMIT
			N WARNING there is no transaction in progress
			C COMMIT
			Z I
			> Q ROLLBACK
			N WARNING there is no transaction in progress
			C ROLLBACK
			Z I`},
		{"AND CHAIN", `
			> Q COMMIT AND CHAIN
			E 25P01 COMMIT AND CHAIN can only be used in transaction blocks
			Z I
			> Q ROLLBACK AND CHAIN
			E 25P01 ROLLBACK AND CHAIN can only be used in transaction blocks
			Z I
			> Q BEGIN READ ONLY
			C BEGIN
			Z T
			> Q COMMIT AND CHAIN
			C COMMIT
			Z T
			> Q SHOW transaction_read_only
			T transaction_read_only:25
			D on
			C SHOW
			Z T
			> Q ROLLBACK
			C ROLLBACK
			Z I`},
		{"modes", `
			> Q START TRANSACTION ISOLATION LEVEL SERIALIZABLE
			C START TRANSACTION
			Z T
			> Q SHOW transaction_isolation
			T transaction_isolation:25
			D serializable
			C SHOW
			Z T
			> Q SET TRANSACTION ISOLATION LEVEL READ COMMITTED
			C SET
			Z T
			> Q SELECT rows(1, 1)
			charge SELECT rows(1, 1)
			T x:25
			run SELECT rows(1, 1)
			D x
			N NOTICE epsilon spent
			C SELECT 1
			Z T
			> Q SET TRANSACTION ISOLATION LEVEL SERIALIZABLE
			E 25001 SET TRANSACTION ISOLATION LEVEL must be called before any query
			Z E
			> Q ROLLBACK
			C ROLLBACK
			Z I
			> Q SET TRANSACTION READ ONLY
			N WARNING SET TRANSACTION can only be used in transaction blocks
			C SET
			Z I
			> Q SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY
			C SET
			S default_transaction_read_only = on
			Z I
			> Q BEGIN
			C BEGIN
			Z T
			> Q SHOW transaction_read_only
			T transaction_read_only:25
			D on
			C SHOW
			Z T
			> Q SELECT 1
			charge SELECT 1
			T x:25
			run SELECT 1
			D x
			N NOTICE epsilon spent
			C SELECT 1
			Z T
			> Q SET TRANSACTION READ WRITE
			E 25001 transaction read-write mode must be set before any query
			Z E
			> Q ROLLBACK
			C ROLLBACK
			Z I`},
		{"modes in a subtransaction", `
			> Q BEGIN READ ONLY
			C BEGIN
			Z T
			> Q SAVEPOINT s
			C SAVEPOINT
			Z T
			> Q SET transaction_read_only = off
			E 25001 cannot set transaction read-write mode inside a read-only transaction
			Z E
			> Q ROLLBACK
			C ROLLBACK
			Z I
			> Q BEGIN
			C BEGIN
			Z T
			> Q SAVEPOINT s
			C SAVEPOINT
			Z T
			> Q SET TRANSACTION ISOLATION LEVEL SERIALIZABLE
			E 25001 SET TRANSACTION ISOLATION LEVEL must not be called in a subtransaction
			Z E
			> Q ROLLBACK
			C ROLLBACK
			Z I
			> Q BEGIN
			C BEGIN
			Z T
			> Q SAVEPOINT s
			C SAVEPOINT
			Z T
			> Q SET TRANSACTION DEFERRABLE
			E 25001 SET TRANSACTION [NOT] DEFERRABLE cannot be called within a subtransaction
			Z E
			> Q ROLLBACK
			C ROLLBACK
			Z I`},
		{"several statements are one implicit block", `
			> Q SET application_name = 'x'; SELECT fails()
			C SET
			charge SELECT fails()
			T x:25
			run SELECT fails()
			E XX000 private detail
			Z I
			> Q SHOW application_name
			T application_name:25
			D
			C SHOW
			Z I
			> Q SET LOCAL application_name = 'y'; SHOW application_name
			C SET
			T application_name:25
			D y
			C SHOW
			Z I
			> Q SHOW application_name
			T application_name:25
			D
			C SHOW
			Z I`},
		{"BEGIN in a text outlives it", `
			> Q BEGIN; SELECT rows(1, 1)
			C BEGIN
			charge SELECT rows(1, 1)
			T x:25
			run SELECT rows(1, 1)
			D x
			N NOTICE epsilon spent
			C SELECT 1
			Z T
			> Q COMMIT
			C COMMIT
			Z I`},
		{"what opens a block fails in it", `
			> Q BEGIN; SELECT fails()
			C BEGIN
			charge SELECT fails()
			T x:25
			run SELECT fails()
			E XX000 private detail
			Z E
			> Q ROLLBACK
			C ROLLBACK
			Z I`},
	} {
		t.Run(c.name, func(t *testing.T) { play(t, c.transcript) })
	}
}
