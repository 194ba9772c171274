package session

import (
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/command"
	"github.com/dpproxy/dpproxy/internal/memory"
	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// Codes of transaction control, by the names of PostgreSQL's errcodes.txt.
const (
	activeTransaction   = "25001"
	noActiveTransaction = "25P01"
	invalidSavepoint    = "3B001"
)

// transaction is the transaction of a session. No database knows of it. Every statement runs in one, which is implicit
// without BEGIN.
type transaction struct {
	block  bool // BEGIN was given
	failed bool // an error occurred inside the block
	many   bool // the statements of one simple query form an implicit block
	asked  bool // a query has run: the isolation level is settled

	base       layers // settings to go back to
	start      layers // base with the modes that the block began with
	savepoints []savepoint
	// sequence numbers what is created in the transaction, so that going back to a savepoint finds what is younger.
	sequence int
}

type savepoint struct {
	name     string
	layers   layers
	sequence int
	hold     memory.Hold
}

// status returns the byte of ReadyForQuery.
func (t *transaction) status() byte {
	switch {
	case t.block && t.failed:
		return 'E'
	case t.block:
		return 'T'
	}
	return 'I'
}

func (t *transaction) next() int {
	t.sequence++
	return t.sequence
}

// cut forgets all savepoints but the first n.
func (t *transaction) cut(n int) {
	for i := range t.savepoints[n:] {
		t.savepoints[n+i].hold.Free()
	}
	clear(t.savepoints[n:])
	t.savepoints = t.savepoints[:n]
}

// begin does BEGIN and START TRANSACTION.
func (st *state) begin(c command.Begin) *result {
	r := &result{tag: "BEGIN"}
	if c.Start {
		r.tag = "START TRANSACTION"
	}
	if st.tx.block {
		r.warn(activeTransaction, "there is already a transaction in progress")
	} else {
		st.tx.block, st.tx.start = true, st.tx.base
		st.transactionDefaults()
	}
	st.setModes(c.Modes)
	return r
}

// transactionDefaults sets the modes of the transaction to those that the session has for new ones.
func (st *state) transactionDefaults() {
	for _, mode := range []string{"isolation", "read_only", "deferrable"} {
		value := st.layers.session.Get("default_transaction_" + mode)
		st.layers = st.layers.set("transaction_"+mode, value, true)
		st.tx.start = st.tx.start.set("transaction_"+mode, value, true)
	}
}

// setModes sets the transaction's modes without asking whether it is still time for that.
func (st *state) setModes(m command.Modes) {
	for _, mode := range m.List() {
		st.layers = st.layers.set("transaction_"+mode.Name, mode.Value, true)
	}
}

// checkMode refuses to change what a transaction has settled, as PostgreSQL's check hooks do.
func (st *state) checkMode(name, value string) error {
	current := st.layers.current.Get(name)
	nested := len(st.tx.savepoints) > 0
	switch name {
	case "transaction_isolation":
		switch {
		case value == current || !st.tx.block:
		case st.tx.asked:
			return pgerr.New(activeTransaction, "SET TRANSACTION ISOLATION LEVEL must be called before any query")
		case nested:
			return pgerr.New(activeTransaction, "SET TRANSACTION ISOLATION LEVEL must not be called in a subtransaction")
		}
	case "transaction_read_only":
		switch {
		case value == "on" || current != "on" || !st.tx.block:
		case nested:
			return pgerr.New(activeTransaction, "cannot set transaction read-write mode inside a read-only transaction")
		case st.tx.asked:
			return pgerr.New(activeTransaction, "transaction read-write mode must be set before any query")
		}
	case "transaction_deferrable":
		switch {
		case !st.tx.block:
		case nested:
			return pgerr.New(activeTransaction, "SET TRANSACTION [NOT] DEFERRABLE cannot be called within a subtransaction")
		case st.tx.asked:
			return pgerr.New(activeTransaction, "SET TRANSACTION [NOT] DEFERRABLE must be called before any query")
		}
	}
	return nil
}

// commit does COMMIT. In a failed transaction it rolls back, and says so.
func (st *state) commit(chain bool) (*result, error) {
	if st.tx.failed {
		r, err := st.rollback(chain)
		return r, err
	}
	r := &result{tag: "COMMIT"}
	if !st.tx.block {
		if chain {
			return nil, outsideBlock("COMMIT AND CHAIN")
		}
		r.warn(noActiveTransaction, "there is no transaction in progress")
	}
	modes := st.layers.current
	st.endCommitted()
	st.chain(chain, modes)
	return r, nil
}

// rollback does ROLLBACK. It takes back settings and cursors, never a charge.
func (st *state) rollback(chain bool) (*result, error) {
	r := &result{tag: "ROLLBACK"}
	if !st.tx.block {
		if chain {
			return nil, outsideBlock("ROLLBACK AND CHAIN")
		}
		r.warn(noActiveTransaction, "there is no transaction in progress")
	}
	modes := st.layers.current
	if len(st.tx.savepoints) > 0 { // they are undone first
		modes = st.tx.savepoints[0].layers.current
	}
	st.endAborted()
	st.chain(chain, modes)
	return r, nil
}

// chain opens the next transaction with the modes of the last.
func (st *state) chain(chain bool, modes Settings) {
	if !chain {
		return
	}
	st.tx.block = true
	for _, name := range []string{"transaction_isolation", "transaction_read_only", "transaction_deferrable"} {
		st.layers = st.layers.set(name, modes.Get(name), true)
	}
	st.tx.start = st.layers
}

// endCommitted keeps settings and the cursors WITH HOLD.
func (st *state) endCommitted() {
	st.layers = st.layers.withoutLocal()
	for name, p := range st.portals {
		if p.outlives {
			p.sequence = 0 // no rollback will find it
		} else {
			st.dropPortal(name)
		}
	}
	st.endTransaction()
}

// endAborted restores settings and drops every cursor that the transaction made.
func (st *state) endAborted() {
	st.layers = st.tx.base
	st.dropYounger(0)
	st.endTransaction()
}

// fail notes an error inside a block. Settings go back at once, to the last savepoint if there is one.
func (st *state) fail() {
	st.tx.failed = true
	back := savepoint{layers: st.tx.start}
	if n := len(st.tx.savepoints); n > 0 {
		back = st.tx.savepoints[n-1]
	}
	st.layers = back.layers
	for _, p := range st.portals {
		p.dead = p.dead || p.sequence > back.sequence
	}
}

func (st *state) endTransaction() {
	st.tx.cut(0)
	st.tx = transaction{base: st.layers, many: st.tx.many}
}

func (st *state) dropYounger(sequence int) {
	for name, p := range st.portals {
		if p.sequence > sequence {
			st.dropPortal(name)
		}
	}
}

func (st *state) savepoint(name string) (*result, error) {
	if !st.tx.block {
		return nil, outsideBlock("SAVEPOINT")
	}
	if len(st.tx.savepoints) >= maxSavepoints {
		return nil, pgerr.New(pgerr.ProgramLimitExceeded, "too many savepoints",
			pgerr.Hint("RELEASE those that are no longer needed."))
	}
	hold, err := st.memory.Take(objectBytes + st.layers.bytes())
	if err != nil {
		return nil, err
	}
	st.tx.savepoints = append(st.tx.savepoints, savepoint{name, st.layers, st.tx.sequence, hold})
	return &result{tag: "SAVEPOINT"}, nil
}

func (st *state) release(name string) (*result, error) {
	i, err := st.findSavepoint(name, "RELEASE SAVEPOINT")
	if err != nil {
		return nil, err
	}
	st.tx.cut(i)
	return &result{tag: "RELEASE"}, nil
}

func (st *state) rollbackTo(name string) (*result, error) {
	i, err := st.findSavepoint(name, "ROLLBACK TO SAVEPOINT")
	if err != nil {
		return nil, err
	}
	sp := st.tx.savepoints[i]
	st.layers, st.tx.failed = sp.layers, false
	st.tx.cut(i + 1)
	st.dropYounger(sp.sequence)
	return &result{tag: "ROLLBACK"}, nil
}

// findSavepoint finds the youngest savepoint of that name.
func (st *state) findSavepoint(name, what string) (int, error) {
	if !st.tx.block {
		return 0, outsideBlock(what)
	}
	for i := len(st.tx.savepoints) - 1; i >= 0; i-- {
		if st.tx.savepoints[i].name == name {
			return i, nil
		}
	}
	return 0, pgerr.New(invalidSavepoint, `savepoint "`+name+`" does not exist`)
}

// setTransaction does SET TRANSACTION and SET SESSION CHARACTERISTICS.
func (st *state) setTransaction(c command.SetTransaction) (*result, error) {
	r := &result{tag: "SET"}
	if c.Session {
		for _, mode := range c.Modes.List() {
			st.layers = st.layers.set("default_transaction_"+mode.Name, mode.Value, false)
		}
		return r, nil
	}
	if !st.tx.block && !st.tx.many {
		r.warn(noActiveTransaction, "SET TRANSACTION can only be used in transaction blocks")
		return r, nil
	}
	for _, mode := range c.Modes.List() {
		if err := st.checkMode("transaction_"+mode.Name, mode.Value); err != nil {
			return nil, err
		}
	}
	st.setModes(c.Modes)
	return r, nil
}

func outsideBlock(what string) *pgconn.PgError {
	return pgerr.New(noActiveTransaction, what+" can only be used in transaction blocks")
}
