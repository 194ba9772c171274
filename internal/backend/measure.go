package backend

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// Measurement is everything that one statement asks of main.
type Measurement struct {
	Queries  []MeasureQuery
	Proofs   []rewrite.Proof // made again in the same snapshot
	Settings Settings

	// Admit says whether the n-th query may run with these values. It is asked right before main is; without it nothing
	// runs.
	Admit func(n int, q rewrite.SQL) error

	// Stages says, for each stage of the statement, behind how many of Queries it is answered. Answer gives its rows,
	// which later queries read; it is called when all rows of the queries before it have been given to each.
	Stages []int
	Answer func(ctx context.Context, stage int) ([][]*rewrite.Canonical, error)
}

// MeasureQuery is one query that rewrite printed. Its first columns are group keys of the types Keys; the others are
// Integers.
type MeasureQuery struct {
	SQL      rewrite.SQL
	Keys     []uint32
	Integers int
}

// MeasureRow is one row of Queries[Query].
type MeasureRow struct {
	Query    int
	Keys     []*rewrite.Canonical // nil is NULL
	Integers []int64              // NULL counts as 0: the sum over no rows
}

// So many rows pass from the reader to the caller at once; the first few by themselves, as most answers have no more.
const firstRows, batchRows = 8, 256

// batch is what the reader passes to the caller: rows, or the question for a stage's.
type batch struct {
	rows   []MeasureRow
	stage  int
	answer chan<- [][]*rewrite.Canonical // nil: rows
}

// Measure runs all queries in one REPEATABLE READ, READ ONLY transaction on main, so that they see one state of it, and
// calls each for every row, in the order of Queries. The workers of a Citus cluster see one state each for each query.
//
// Whatever goes wrong on main is a *MeasureError, or a *ProofError where main does not bear the plan out any more; a
// *pgconn.PgError (53300) says that no connection became free in time. What Answer says is returned as it is. When ctx
// ends first, Measure returns its cause at once, whatever main is doing: its query is cancelled behind the client's
// back and its outcome is discarded (docs/threat-model.md).
func (b *Backend) Measure(ctx context.Context, m Measurement, each func(MeasureRow) error) error {
	batches := make(chan batch, 4)
	failed := make(chan error, 1)
	// The reader gets a context of its own, so that it also ends when each refuses a row.
	reading, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		defer close(batches)
		failed <- b.measure(reading, m, batches)
	}()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case next, more := <-batches:
			if !more {
				if err := <-failed; err != nil {
					if ctx.Err() != nil {
						return context.Cause(ctx)
					}
					return measureError(err)
				}
				return nil
			}
			if next.answer != nil {
				rows, err := m.Answer(ctx, next.stage)
				if err != nil {
					return err
				}
				next.answer <- rows
			}
			for _, row := range next.rows {
				if err := each(row); err != nil {
					return err
				}
			}
		}
	}
}

// measure retries once on a connection that was dead before it answered BEGIN: nothing was read then.
func (b *Backend) measure(ctx context.Context, m Measurement, out chan<- batch) error {
	for attempt := 0; ; attempt++ {
		conn, err := b.main.acquire(ctx)
		if err != nil {
			return &notAcquired{err}
		}
		tx := b.main.begin(ctx, conn, b.pins(measuring, m.Settings))
		b.holdTables(tx, m.Queries)
		run := &measureRun{Backend: b, Measurement: m, questions: b.questions(m.Proofs), tx: tx, out: out}
		for _, q := range run.questions {
			tx.query(q.sql, q.values, q.types, nil)
		}
		if err := run.queue(); err != nil {
			_ = tx.end() // nothing was sent
			return err
		}
		if err := tx.sendFirst(len(m.Stages) == 0); err != nil {
			_ = tx.end() // the first error decides
			if attempt == 0 && ctx.Err() == nil && connectionLost(err) {
				b.main.pool.Reset()
				continue
			}
			return err
		}
		err = run.read(ctx)
		if end := tx.end(); err == nil {
			err = end
		}
		return err
	}
}

// holdTables locks what the queries read before the proofs, where no snapshot keeps the two together.
func (b *Backend) holdTables(tx *transaction, queries []MeasureQuery) {
	if !pinnedOf(tx.conn.Conn()).citus {
		return
	}
	for _, q := range queries {
		_, types := b.parameters(q.SQL)
		tx.hold(q.SQL.Text, types)
	}
}

// measureRun is one measurement in its transaction.
type measureRun struct {
	*Backend
	Measurement
	questions []question
	tx        *transaction
	out       chan<- batch
	queued    int                      // so many queries are queued
	answers   [][][]*rewrite.Canonical // of stages
}

// upto says how many queries can be queued: those before the next stage.
func (r *measureRun) upto() int {
	if n := len(r.answers); n < len(r.Stages) {
		return r.Stages[n]
	}
	return len(r.Queries)
}

// queue queues the queries up to the next stage.
func (r *measureRun) queue() error {
	for ; r.queued < r.upto(); r.queued++ {
		q := r.Queries[r.queued]
		sql := q.SQL.With(r.answers)
		if err := r.admit(sql); err != nil {
			return err
		}
		values, types := r.parameters(sql)
		r.tx.query(sql.Text, values, types, q.formats())
	}
	return nil
}

// admit asks whether the next query may run.
func (r *measureRun) admit(q rewrite.SQL) error {
	if r.Admit == nil {
		return &NotAdmitted{errors.New("nobody admits it")}
	}
	if err := r.Admit(r.queued, q); err != nil {
		return &NotAdmitted{err}
	}
	return nil
}

// NotAdmitted says that a query may not run: main has not seen it. Reason follows from its text and values, and from no
// row.
type NotAdmitted struct{ Reason error }

func (e *NotAdmitted) Error() string { return "a measure query is not admitted: " + e.Reason.Error() }

// Unwrap gives the reason.
func (e *NotAdmitted) Unwrap() error { return e.Reason }

// read reads all answers, and asks for the stages' in between.
func (r *measureRun) read(ctx context.Context) error {
	for _, q := range r.questions {
		rows, err := r.tx.answer()
		if err == nil {
			err = q.check(rows)
		}
		if err != nil {
			return err
		}
	}
	for read := 0; ; {
		for ; read < r.queued; read++ {
			reader, err := r.tx.reader()
			if err != nil {
				return err
			}
			if err := readQuery(ctx, reader, read, r.Queries[read].Keys, r.out); err != nil {
				return err
			}
		}
		if len(r.answers) == len(r.Stages) {
			return nil
		}
		if err := r.ask(ctx); err != nil {
			return err
		}
		if err := r.queue(); err != nil {
			return err
		}
		if err := r.tx.sendMore(len(r.answers) == len(r.Stages)); err != nil {
			return err
		}
	}
}

// ask gets the rows of the next stage.
func (r *measureRun) ask(ctx context.Context) error {
	answer := make(chan [][]*rewrite.Canonical, 1)
	select {
	case r.out <- batch{stage: len(r.answers), answer: answer}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case rows := <-answer:
		r.answers = append(r.answers, rows)
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func readQuery(ctx context.Context, reader *pgconn.ResultReader, query int, keys []uint32, out chan<- batch) error {
	var rows []MeasureRow
	size := firstRows
	flush := func() error {
		select {
		case out <- batch{rows: rows}:
			rows, size = nil, batchRows
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	for reader.NextRow() {
		values := reader.Values()
		if rows == nil {
			rows = measureRows(size, query, keys, len(values))
		}
		rows = rows[:len(rows)+1]
		if err := rows[len(rows)-1].read(keys, values); err != nil {
			return err
		}
		if len(rows) == size {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if _, err := reader.Close(); err != nil {
		return err
	}
	return flush()
}

// measureRows makes room for so many rows that are to be read, and for all of their columns.
func measureRows(size, query int, keys []uint32, columns int) []MeasureRow {
	rows := make([]MeasureRow, size)
	width := max(0, columns-len(keys))
	integers, texts := make([]int64, size*width), make([]*rewrite.Canonical, size*len(keys))
	for i := range rows {
		rows[i] = MeasureRow{Query: query, Integers: integers[i*width : (i+1)*width : (i+1)*width]}
		if n := len(keys); n > 0 {
			rows[i].Keys = texts[i*n : (i+1)*n : (i+1)*n]
		}
	}
	return rows[:0]
}

// formats asks for keys as canonical takes them, and for integers as text.
func (q MeasureQuery) formats() []int16 {
	return append(canonicalFormats(q.Keys), make([]int16, q.Integers)...)
}

// read copies a row out of the connection's buffer.
func (row *MeasureRow) read(keys []uint32, values [][]byte) error {
	if len(values) != len(keys)+len(row.Integers) {
		return fmt.Errorf("%w: %d columns, %d of them keys", errProtocol, len(values), len(keys))
	}
	for i, v := range values {
		switch {
		case v == nil:
		case i < len(keys):
			key, err := canonical(keys[i], v)
			if err != nil {
				return fmt.Errorf("%w: column %d of a measure is no key of its type", errProtocol, i+1)
			}
			row.Keys[i] = key
		default:
			n, err := strconv.ParseInt(integral(string(v)), 10, 64)
			if err != nil {
				// The value is private: the error says where, not what.
				return fmt.Errorf("%w: column %d of a measure is no 64-bit integer", errProtocol, i+1)
			}
			row.Integers[i-len(keys)] = n
		}
	}
	return nil
}

// integral drops the fraction that a numeric with a scale prints when it holds an integer: "12.00" is 12.
func integral(s string) string {
	whole, fraction, ok := strings.Cut(s, ".")
	if ok && strings.Trim(fraction, "0") == "" {
		return whole
	}
	return s
}
