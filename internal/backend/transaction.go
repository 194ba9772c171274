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

func textOIDs(n int) []uint32 { return slices.Repeat([]uint32{textOID}, n) }

// transaction sends one READ ONLY transaction for SQL that dpproxy wrote on a pooled connection, as one pipeline: pins that the connection does not have, BEGIN, then
// whatever the caller adds, COMMIT, Sync. A server reads the pins before it reads the text that they protect.
type transaction struct {
	conn     *pgxpool.Conn
	pipeline *pgconn.Pipeline
	pins     []pin
	before   int // so many answers come before those of what the caller adds
	held     int // and so many descriptions, behind them
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

// begin queues a transaction.
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

// queue queues a command whose answer sendFirst reads.
func (t *transaction) queue(sql string) {
	t.pipeline.SendQueryParams(sql, nil, nil, nil, nil)
	t.before++
}

// pin queues all pins: for the transaction that has begun, or for the connection.
func (t *transaction) pin(local bool) {
	sql, values := pinSQL(t.pins, local)
	t.pipeline.SendQueryParams(sql, values, textOIDs(len(values)), nil, nil)
	t.before++
}

// pinLocally queues all pins for the transaction that has begun; through its coordinator, for the workers of a Citus cluster as well.
func (t *transaction) pinLocally(citus bool) {
	if !citus {
		t.pin(true)
		return
	}
	for _, sql := range propagated(t.pins) {
		t.queue(sql)
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

// end reads what is left, and gives the connection back. It returns the first error that the rest of the pipeline reported.
func (t *transaction) end() error {
	err := t.pipeline.Close()
	giveBack(t.conn)
	return err
}
