package backend

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// textOID makes the pins' parameters text, whatever set_config is overloaded with.
const textOID = 25

// transaction sends one READ ONLY transaction on a pooled connection as one pipeline: pins that the connection does not have, BEGIN, then
// whatever the caller adds, COMMIT, Sync. A server reads the pins before it reads the text that they protect.
type transaction struct {
	conn     *pgxpool.Conn
	pipeline *pgconn.Pipeline
	pins     []pin
	guarded  bool // what it adds is undone before COMMIT
	before   int  // so many answers come before those of what the caller adds
	held     int  // and so many descriptions, behind them
}

const (
	beginRead = "BEGIN READ ONLY"
	// beginMeasure gives all queries of a statement one state of main.
	beginMeasure = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
)

// measureOn says how a measure begins. The workers of a Citus cluster read each query as of when it reaches them, whatever the isolation;
// READ COMMITTED lets the proofs see what is behind the locks that hold takes (docs/privacy.md P1).
func measureOn(conn *pgxpool.Conn) string {
	if pinnedOf(conn.Conn()).citus {
		return beginRead
	}
	return beginMeasure
}

// begin queues a transaction for SQL that dpproxy wrote.
func begin(ctx context.Context, conn *pgxpool.Conn, how string, pins []pin) *transaction {
	t := &transaction{conn: conn, pins: pins, pipeline: conn.Conn().PgConn().StartPipeline(ctx)}
	pinned := pinnedOf(conn.Conn())
	if pinned.local() {
		t.queue(how)
		t.pinLocally(pinned.citus)
		return t
	}
	if !slices.Equal(pinned.pins, pins) {
		t.pin(false)
		t.pipeline.SendPipelineSync() // or BEGIN would take the pins into its transaction
		pinned.pins = nil             // until the answer is known
	}
	t.queue(how)
	return t
}

// beginGuarded queues a transaction for a client's SQL. A setting that a function of it changes for the session is undone with the
// savepoint: what a connection is remembered to have, it has. To end with ROLLBACK would do the same, and fill a database's statistics with
// what looks like failures.
func beginGuarded(ctx context.Context, conn *pgxpool.Conn, pins []pin) *transaction {
	t := begin(ctx, conn, beginRead, pins)
	t.queue("SAVEPOINT guard")
	t.guarded = true
	return t
}

// queue queues a command whose answer sendFirst reads.
func (t *transaction) queue(sql string) {
	t.pipeline.SendQueryParams(sql, nil, nil, nil, nil)
	t.before++
}

// pin queues all pins: for the transaction that has begun, or for the connection.
func (t *transaction) pin(local bool) {
	sql, values := pinSQL(t.pins, local)
	types := make([]uint32, len(values))
	for i := range types {
		types[i] = textOID
	}
	t.pipeline.SendQueryParams(sql, values, types, nil, nil)
	t.before++
}

// pinLocally queues all pins for the transaction that has begun; through its coordinator, for the workers of a Citus cluster as well.
func (t *transaction) pinLocally(citus bool) {
	if !citus {
		t.pin(true)
		return
	}
	t.queue(propagate.setSQL())
	for _, p := range t.pins {
		t.queue(p.setSQL())
	}
}

// send queues COMMIT and Sync, sends everything, and reads the answers to BEGIN and the pins.
func (t *transaction) send() error { return t.sendFirst(true) }

// sendFirst sends what is queued, and reads the answers to BEGIN, the pins and what is held. Unless it is the last of the transaction, more may be queued
// once all answers are read.
func (t *transaction) sendFirst(last bool) error {
	if err := t.sendMore(last); err != nil {
		return err
	}
	for range t.before {
		reader, err := t.reader()
		if err != nil {
			return err
		}
		if _, err := reader.Close(); err != nil {
			return err
		}
	}
	for range t.held {
		if _, err := t.pipeline.GetResults(); err != nil {
			return err
		}
	}
	pinnedOf(t.conn.Conn()).pins = t.pins
	return nil
}

// hold queues the parse of a query, which locks the tables that it reads until the transaction ends: no index of theirs can be dropped and
// no column changed meanwhile.
func (t *transaction) hold(sql string, types []uint32) {
	t.pipeline.SendPrepare("", sql, types)
	t.held++
}

// sendMore sends what is queued, with COMMIT where it is the last.
func (t *transaction) sendMore(last bool) error {
	if last && t.guarded {
		t.pipeline.SendQueryParams("ROLLBACK TO guard", nil, nil, nil, nil)
	}
	if last {
		t.pipeline.SendQueryParams("COMMIT", nil, nil, nil, nil)
	}
	return t.pipeline.Sync()
}

// reader returns the result of the next queued query.
func (t *transaction) reader() (*pgconn.ResultReader, error) {
	result, err := t.pipeline.GetResults()
	if _, between := result.(*pgconn.PipelineSync); between {
		result, err = t.pipeline.GetResults()
	}
	if err != nil {
		return nil, err
	}
	reader, ok := result.(*pgconn.ResultReader)
	if !ok {
		return nil, fmt.Errorf("%w: %T instead of rows", errProtocol, result)
	}
	return reader, nil
}

// end reads what is left, makes sure that no transaction stays open, and gives the connection back. A connection in doubt
// is closed. It returns the first error that the rest of the pipeline reported.
func (t *transaction) end() error {
	err := t.pipeline.Close()
	conn := t.conn.Conn().PgConn()
	if !conn.IsClosed() && conn.TxStatus() != 'I' {
		// The statement failed or was stopped before COMMIT. The caller's context may be done, so it has no say here.
		ctx, cancel := context.WithTimeout(context.Background(), cancelGrace)
		if _, rollback := conn.Exec(ctx, "ROLLBACK").ReadAll(); rollback != nil {
			// Nothing is lost by closing it, and the pool makes a new one.
			_ = conn.Close(ctx)
		}
		cancel()
	}
	t.conn.Release()
	return err
}
