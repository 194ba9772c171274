package session

import "testing"

// TestCursors plays DECLARE, FETCH, MOVE and CLOSE.
func TestCursors(t *testing.T) {
	for _, c := range []struct{ name, transcript string }{
		{"the first FETCH charges, the others do not", `
			> Q BEGIN
			C BEGIN
			Z T
			> Q DECLARE c CURSOR FOR SELECT rows(5, 1)
			C DECLARE CURSOR
			Z T
			> Q FETCH 2 FROM c
			charge SELECT rows(5, 1)
			run SELECT rows(5, 1)
			T x:25
			N NOTICE epsilon spent
			D x
			D x
			C FETCH 2
			Z T
			> Q FETCH 2 FROM c
			T x:25
			D x
			D x
			C FETCH 2
			Z T
			> Q FETCH ALL FROM c
			T x:25
			D x
			C FETCH 1
			Z T
			> Q FETCH c
			T x:25
			C FETCH 0
			Z T
			> Q CLOSE c
			C CLOSE CURSOR
			Z T
			> Q COMMIT
			C COMMIT
			Z I`},
		{"a cursor that nobody fetches from costs nothing", `
			> budget 0
			> Q BEGIN
			C BEGIN
			Z T
			> Q DECLARE c CURSOR FOR SELECT rows(5, 1)
			C DECLARE CURSOR
			Z T
			> Q CLOSE c
			C CLOSE CURSOR
			Z T
			> Q COMMIT
			C COMMIT
			Z I`},
		{"directions", `
			> Q BEGIN
			C BEGIN
			Z T
			> Q DECLARE c SCROLL CURSOR FOR SELECT counts(4)
			C DECLARE CURSOR
			Z T
			> Q FETCH LAST FROM c
			charge SELECT counts(4)
			run SELECT counts(4)
			T x:25
			N NOTICE epsilon spent
			D 4
			C FETCH 1
			Z T
			> Q FETCH PRIOR FROM c
			T x:25
			D 3
			C FETCH 1
			Z T
			> Q FETCH FIRST FROM c
			T x:25
			D 1
			C FETCH 1
			Z T
			> Q FETCH ABSOLUTE 3 FROM c
			T x:25
			D 3
			C FETCH 1
			Z T
			> Q FETCH RELATIVE -2 FROM c
			T x:25
			D 1
			C FETCH 1
			Z T
			> Q FETCH BACKWARD ALL FROM c
			T x:25
			C FETCH 0
			Z T
			> Q FETCH 0 FROM c
			T x:25
			C FETCH 0
			Z T
			> Q FETCH FORWARD 2 FROM c
			T x:25
			D 1
			D 2
			C FETCH 2
			Z T
			> Q MOVE BACKWARD 1 FROM c
			C MOVE 1
			Z T
			> Q FETCH c
			T x:25
			D 2
			C FETCH 1
			Z T
			> Q MOVE ALL FROM c
			C MOVE 2
			Z T
			> Q FETCH BACKWARD 2 FROM c
			T x:25
			D 4
			D 3
			C FETCH 2
			Z T
			> Q FETCH ABSOLUTE -1 FROM c
			T x:25
			D 4
			C FETCH 1
			Z T
			> Q ROLLBACK
			C ROLLBACK
			Z I`},
		{"NO SCROLL looks forward alone", `
			> Q BEGIN
			C BEGIN
			Z T
			> Q DECLARE c NO SCROLL CURSOR FOR SELECT counts(3)
			C DECLARE CURSOR
			Z T
			> Q FETCH 2 FROM c
			charge SELECT counts(3)
			run SELECT counts(3)
			T x:25
			N NOTICE epsilon spent
			D 1
			D 2
			C FETCH 2
			Z T
			> Q FETCH PRIOR FROM c
			E 55000 cursor can only scan forward
			Z E
			> Q ROLLBACK
			C ROLLBACK
			Z I`},
		{"WITH HOLD outlives its transaction, others do not", `
			> Q BEGIN
			C BEGIN
			Z T
			> Q DECLARE c CURSOR FOR SELECT counts(2)
			C DECLARE CURSOR
			Z T
			> Q DECLARE h CURSOR WITH HOLD FOR SELECT counts(2)
			C DECLARE CURSOR
			Z T
			> Q COMMIT
			C COMMIT
			Z I
			> Q FETCH c
			E 34000 cursor "c" does not exist
			Z I
			> Q FETCH h
			charge SELECT counts(2)
			run SELECT counts(2)
			T x:25
			N NOTICE epsilon spent
			D 1
			C FETCH 1
			Z I
			> Q CLOSE ALL
			C CLOSE CURSOR ALL
			Z I
			> Q FETCH h
			E 34000 cursor "h" does not exist
			Z I`},
		{"outside a block a cursor needs WITH HOLD", `
			> Q DECLARE c CURSOR FOR SELECT rows(1, 1)
			E 25P01 DECLARE CURSOR can only be used in transaction blocks
			Z I
			> Q DECLARE c CURSOR FOR SELECT counts(1); FETCH c
			C DECLARE CURSOR
			charge SELECT counts(1)
			run SELECT counts(1)
			T x:25
			N NOTICE epsilon spent
			D 1
			C FETCH 1
			Z I
			> Q FETCH c
			E 34000 cursor "c" does not exist
			Z I`},
		{"a rollback drops the cursors of its transaction", `
			> Q DECLARE h CURSOR WITH HOLD FOR SELECT counts(2)
			C DECLARE CURSOR
			Z I
			> Q BEGIN
			C BEGIN
			Z T
			> Q DECLARE i CURSOR WITH HOLD FOR SELECT counts(2)
			C DECLARE CURSOR
			Z T
			> Q ROLLBACK
			C ROLLBACK
			Z I
			> Q FETCH h
			charge SELECT counts(2)
			run SELECT counts(2)
			T x:25
			N NOTICE epsilon spent
			D 1
			C FETCH 1
			Z I
			> Q FETCH i
			E 34000 cursor "i" does not exist
			Z I`},
		{"ROLLBACK TO drops younger cursors", `
			> Q BEGIN
			C BEGIN
			Z T
			> Q DECLARE a CURSOR FOR SELECT counts(2)
			C DECLARE CURSOR
			Z T
			> Q SAVEPOINT s
			C SAVEPOINT
			Z T
			> Q DECLARE b CURSOR FOR SELECT counts(2)
			C DECLARE CURSOR
			Z T
			> Q FETCH b
			charge SELECT counts(2)
			run SELECT counts(2)
			T x:25
			N NOTICE epsilon spent
			D 1
			C FETCH 1
			Z T
			> Q ROLLBACK TO s
			C ROLLBACK
			Z T
			> Q FETCH a
			charge SELECT counts(2)
			run SELECT counts(2)
			T x:25
			N NOTICE epsilon spent
			D 1
			C FETCH 1
			Z T
			> Q FETCH b
			E 34000 cursor "b" does not exist
			Z E
			> Q ROLLBACK
			C ROLLBACK
			Z I`},
		{"over budget at FETCH, with the position nowhere", `
			> budget 0
			> Q BEGIN
			C BEGIN
			Z T
			> Q DECLARE c CURSOR FOR SELECT rows(5, 1)
			C DECLARE CURSOR
			Z T
			> Q FETCH c
			E 53400 over budget
			Z E
			> Q ROLLBACK
			C ROLLBACK
			Z I`},
		{"a cursor that could not be charged may be charged later", `
			> budget 0
			> Q DECLARE h CURSOR WITH HOLD FOR SELECT counts(2)
			C DECLARE CURSOR
			Z I
			> Q FETCH h
			E 53400 over budget
			Z I
			> Q FETCH h
			E 53400 over budget
			Z I
			> budget 1
			> Q FETCH h
			charge SELECT counts(2)
			run SELECT counts(2)
			T x:25
			N NOTICE epsilon spent
			D 1
			C FETCH 1
			Z I`},
		{"names", `
			> Q BEGIN
			C BEGIN
			Z T
			> Q DECLARE c CURSOR FOR SELECT 1
			C DECLARE CURSOR
			Z T
			> Q DECLARE c CURSOR FOR SELECT 1
			E 42P03 cursor "c" already exists
			Z E
			> Q ROLLBACK
			C ROLLBACK
			Z I
			> Q CLOSE c
			E 34000 cursor "c" does not exist
			Z I
			> Q FETCH c
			E 34000 cursor "c" does not exist
			Z I
			> Q MOVE c
			E 34000 cursor "c" does not exist
			Z I`},
		{"a cursor over what is refused", `
			> Q BEGIN
			C BEGIN
			Z T
			> Q DECLARE c CURSOR FOR SELECT refused()
			E 42501 refused at 29
			Z E
			> Q ROLLBACK
			C ROLLBACK
			Z I
			> Q BEGIN
			C BEGIN
			Z T
			> Q DECLARE c CURSOR FOR SELECT $1
			E 42P02 there is no parameter $1 at 29
			Z E
			> Q ROLLBACK
			C ROLLBACK
			Z I`},
		{"a cursor whose query fails stays failed", `
			> Q DECLARE h CURSOR WITH HOLD FOR SELECT breaks(1)
			C DECLARE CURSOR
			Z I
			> Q FETCH h
			charge SELECT breaks(1)
			run SELECT breaks(1)
			E 22012 division by zero
			Z I
			> Q FETCH h
			E 22012 division by zero
			Z I`},
		{"FETCH of two cursors in one text charges each when it runs", `
			> Q DECLARE a CURSOR WITH HOLD FOR SELECT counts(1)
			C DECLARE CURSOR
			Z I
			> Q DECLARE b CURSOR WITH HOLD FOR SELECT counts(2)
			C DECLARE CURSOR
			Z I
			> Q FETCH a; FETCH b; FETCH a
			charge SELECT counts(1)
			run SELECT counts(1)
			T x:25
			N NOTICE epsilon spent
			D 1
			C FETCH 1
			charge SELECT counts(2)
			run SELECT counts(2)
			T x:25
			N NOTICE epsilon spent
			D 1
			C FETCH 1
			T x:25
			C FETCH 0
			Z I
			> budget 0
			> Q FETCH a; FETCH b
			T x:25
			C FETCH 0
			T x:25
			D 2
			C FETCH 1
			Z I`},
	} {
		t.Run(c.name, func(t *testing.T) { play(t, c.transcript) })
	}
}
