package command

import "github.com/jackc/pgx/v5/pgconn"

// Command is a statement that the session answers by itself.
type Command interface{ command() }

// Modes are the options of a transaction. Empty and nil: not given.
type Modes struct {
	Isolation  string // "serializable", "repeatable read", "read committed", "read uncommitted"
	ReadOnly   *bool
	Deferrable *bool
}

// Mode is one mode that was given: "isolation", "read_only" or "deferrable", with its value as SHOW prints it.
type Mode struct{ Name, Value string }

// List returns the modes that were given.
func (m Modes) List() []Mode {
	var list []Mode
	if m.Isolation != "" {
		list = append(list, Mode{"isolation", m.Isolation})
	}
	for _, f := range []struct {
		name string
		on   *bool
	}{{"read_only", m.ReadOnly}, {"deferrable", m.Deferrable}} {
		if f.on != nil {
			list = append(list, Mode{f.name, map[bool]string{true: "on", false: "off"}[*f.on]})
		}
	}
	return list
}

// Begin is BEGIN, or START TRANSACTION with Start.
type Begin struct {
	Start bool
	Modes Modes
}

// Commit is COMMIT or END; Rollback is ROLLBACK or ABORT.
type (
	Commit   struct{ Chain bool }
	Rollback struct{ Chain bool }
)

// Savepoint, Release and RollbackTo name a savepoint.
type (
	Savepoint  struct{ Name string }
	Release    struct{ Name string }
	RollbackTo struct{ Name string }
)

// SetTransaction changes the current transaction, or with Session the defaults of later ones (SET SESSION
// CHARACTERISTICS).
type SetTransaction struct {
	Modes   Modes
	Session bool
}

// Set is SET or SET LOCAL. Value is the list of values joined as PostgreSQL stores it; Default is SET … TO DEFAULT.
type Set struct {
	Name    string
	Value   string
	Default bool
	Local   bool
}

// Reset is RESET name; Name is empty for RESET ALL.
type Reset struct{ Name string }

// Show is SHOW name; Name is "all" for SHOW ALL.
type Show struct{ Name string }

// Role is SET ROLE or SET SESSION AUTHORIZATION. Name is empty for NONE, DEFAULT and RESET.
type Role struct {
	Setting string // "role" or "session_authorization"
	Name    string
}

// Discard is DISCARD with "ALL", "PLANS", "SEQUENCES" or "TEMP".
type Discard struct{ What string }

// Prepare is PREPARE. SQL is the statement inside; Offset counts the characters before it.
type Prepare struct {
	Name   string
	Types  []Type
	SQL    string
	Offset int
}

// Type is a type name of PREPARE: the last part of its name, as PostgreSQL's grammar resolves it ("int4" for int).
type Type struct {
	Name  string
	Array bool
	At    int // place in the statement, in characters from 1
}

// Execute is EXECUTE with constants in text form; a nil argument is NULL. Where they have to be computed, Query is a
// SELECT of them all, with every character at its place in the statement's own text.
type Execute struct {
	Name  string
	Args  []*string
	Query string
}

// Deallocate is DEALLOCATE; an empty name is ALL.
type Deallocate struct{ Name string }

// Scroll says whether a cursor may move backwards.
type Scroll int

// ScrollDefault is neither SCROLL nor NO SCROLL.
const (
	ScrollDefault Scroll = iota
	ScrollYes
	ScrollNo
)

// Declare is DECLARE … CURSOR. SQL is the statement inside; Offset counts the characters before it.
type Declare struct {
	Name   string
	Binary bool
	Scroll Scroll
	Hold   bool
	SQL    string
	Offset int
}

// Direction of FETCH and MOVE.
type Direction int

// The directions of FETCH and MOVE. FETCH NEXT is Forward 1, FIRST is Absolute 1, LAST is Absolute -1.
const (
	Forward Direction = iota
	Backward
	Absolute
	Relative
)

// Fetch is FETCH, or MOVE.
type Fetch struct {
	Name      string
	Direction Direction
	Count     int64
	All       bool // FETCH ALL, FORWARD ALL, BACKWARD ALL
	Move      bool
}

// CloseCursor is CLOSE; an empty name is ALL.
type CloseCursor struct{ Name string }

// Listen, Unlisten and Notify are accepted and deliver nothing. An empty Unlisten is UNLISTEN *.
type (
	Listen   struct{ Channel string }
	Unlisten struct{ Channel string }
	Notify   struct{ Channel string }
)

// DoUnlisten is the DO block with which asyncpg gives up its channels.
type DoUnlisten struct{}

// Constraints is SET CONSTRAINTS, which changes nothing.
type Constraints struct{}

// Functions is a SELECT of nothing but calls that read or change the session: one row with one column per call.
type Functions struct{ Calls []Call }

// Call is one column of Functions.
type Call struct {
	Function string // set_config, current_setting, or an advisory-lock function
	Column   string // output name
	Args     []Arg
}

// Arg is a constant in text form, or a parameter (1-based). A nil value is NULL.
type Arg struct {
	Parameter int
	Value     *string
}

// Refused is a statement that dpproxy does not run for anyone.
type Refused struct{ Err *pgconn.PgError }

func (Begin) command()          {}
func (Commit) command()         {}
func (Rollback) command()       {}
func (Savepoint) command()      {}
func (Release) command()        {}
func (RollbackTo) command()     {}
func (SetTransaction) command() {}
func (Set) command()            {}
func (Reset) command()          {}
func (Show) command()           {}
func (Role) command()           {}
func (Discard) command()        {}
func (Prepare) command()        {}
func (Execute) command()        {}
func (Deallocate) command()     {}
func (Declare) command()        {}
func (Fetch) command()          {}
func (CloseCursor) command()    {}
func (Listen) command()         {}
func (Unlisten) command()       {}
func (Notify) command()         {}
func (DoUnlisten) command()     {}
func (Constraints) command()    {}
func (Functions) command()      {}
func (Refused) command()        {}
