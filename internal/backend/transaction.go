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

// transaction sends one READ ONLY transaction for SQL that dpproxy wrote on a pooled connection, as one pipeline: pins
// that the connection does not have, BEGIN, then whatever the caller adds, COMMIT, Sync. A server reads the pins before
// it reads the text that they protect.
type transaction struct {
	conn     *pgxpool.Conn
	pool     *pool
	known    *pinned
	pipeline *pgconn.Pipeline
	pins     *pinSet
	before   int // so many answers come before those of what the caller adds
	held     int // and so many descriptions, behind them

	preparing []prepares // statements whose descriptions are to come, in order
}

// prepares is a statement that a transaction prepares.
type prepares struct {
	key       statementKey
	statement *statement
}

const (
	beginRead = "BEGIN READ ONLY"
	// beginMeasure gives all queries of a statement one state of main.
	beginMeasure = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
)

// measureOn says how a measure begins. The workers of a Citus cluster read each query as of when it reaches them,
// whatever the isolation; READ COMMITTED lets the proofs see what is behind the locks that hold takes (docs/privacy.md
// P1).
func measureOn(conn *pgxpool.Conn) string {
	if pinnedOf(conn.Conn()).citus {
		return beginRead
	}
	return beginMeasure
}

// begin queues a transaction for a measure.
func (p *pool) begin(ctx context.Context, conn *pgxpool.Conn, pins *pinSet) *transaction {
	t := &transaction{
		conn: conn, pool: p, known: pinnedOf(conn.Conn()), pins: pins,
		pipeline: conn.Conn().PgConn().StartPipeline(ctx),
	}
	if t.known.local() {
		t.queue(measureOn(conn))
		t.pinLocally(t.known.citus)
		return t
	}
	for _, name := range t.known.drops() {
		t.pipeline.SendDeallocate(name)
	}
	if t.known.pins != pins {
		t.pin(false)
		t.pipeline.SendPipelineSync() // or BEGIN would take the pins into its transaction
		t.known.pins = nil            // until the answer is known
	}
	t.pipeline.SendQueryPrepared(guardMeasure, nil, nil, nil)
	t.before++
	return t
}

// query queues a query whose answer reader gives. One that comes again is prepared.
func (t *transaction) query(sql string, values [][]byte, types []uint32, formats []int16) {
	key := statementKey{sql, typesKey(types), t.pins}
	at := slices.IndexFunc(t.preparing, func(p prepares) bool { return p.key == key })
	if at >= 0 {
		t.pipeline.SendQueryPrepared(t.preparing[at].statement.name, values, nil, formats)
		return
	}
	s := &statement{}
	if short(values) {
		s = t.known.find(t.pool, key)
	}
	switch {
	case s.name == "":
		t.pipeline.SendQueryParams(sql, values, types, nil, formats)
	case s.columns != nil:
		t.pipeline.SendQueryStatement(&pgconn.StatementDescription{Name: s.name, Fields: s.columns}, values, nil, formats)
	default:
		t.pipeline.SendPrepare(s.name, sql, types)
		t.preparing = append(t.preparing, prepares{key, s})
		t.pipeline.SendQueryPrepared(s.name, values, nil, formats)
	}
}

// queue queues a command whose answer sendFirst reads.
func (t *transaction) queue(sql string) {
	t.pipeline.SendQueryParams(sql, nil, nil, nil, nil)
	t.before++
}

// pin queues all pins: for the transaction that has begun, or for the connection.
func (t *transaction) pin(local bool) {
	sql, values := pinSQL(t.pins.list, local)
	t.pipeline.SendQueryParams(sql, values, textOIDs(len(values)), nil, nil)
	t.before++
}

// pinLocally queues all pins for the transaction that has begun; through its coordinator, for the workers of a Citus
// cluster as well.
func (t *transaction) pinLocally(citus bool) {
	if !citus {
		t.pin(true)
		return
	}
	for _, sql := range propagated(t.pins.list) {
		t.queue(sql)
	}
}

// sendFirst sends what is queued, and reads the answers to BEGIN, the pins and what is held. Unless it is the last of
// the transaction, more may be queued once all answers are read.
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
	t.known.pins = t.pins
	return nil
}

// hold queues the parse of a query, which locks the tables that it reads until the transaction ends: no index of theirs
// can be dropped and no column changed meanwhile.
func (t *transaction) hold(sql string, types []uint32) {
	t.pipeline.SendPrepare("", sql, types)
	t.held++
}

// sendMore sends what is queued, with COMMIT where it is the last.
func (t *transaction) sendMore(last bool) error {
	if last {
		if t.known.local() {
			t.pipeline.SendQueryParams("COMMIT", nil, nil, nil, nil)
		} else {
			t.pipeline.SendQueryPrepared(guardCommit, nil, nil, nil)
		}
	}
	return t.pipeline.Sync()
}

// reader returns the result of the next queued query.
func (t *transaction) reader() (*pgconn.ResultReader, error) {
	for {
		result, err := t.pipeline.GetResults()
		if err != nil {
			return nil, err
		}
		switch r := result.(type) {
		case *pgconn.ResultReader:
			return r, nil
		case *pgconn.PipelineSync, *pgconn.CloseComplete:
		case *pgconn.StatementDescription:
			if len(t.preparing) == 0 {
				return nil, fmt.Errorf("%w: a description", errProtocol)
			}
			next := t.preparing[0]
			t.preparing = t.preparing[1:]
			next.statement.columns = r.Fields
			t.known.prepared(next.key, next.statement)
		default:
			return nil, fmt.Errorf("%w: %T instead of rows", errProtocol, result)
		}
	}
}

// end reads what is left, and gives the connection back. It returns the first error that the rest of the pipeline
// reported.
func (t *transaction) end() error {
	err := t.pipeline.Close()
	giveBack(t.conn)
	return err
}
