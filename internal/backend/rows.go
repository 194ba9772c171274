package backend

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// Request is a statement for shadow or public. Parameters are in the formats that Formats names (length 0, 1 or n, as in
// Bind); a nil parameter is NULL.
type Request struct {
	SQL           string
	Parameters    [][]byte
	Types         []uint32 // 0, or a short list: PostgreSQL infers
	Formats       []int16
	ResultFormats []int16
	Settings      Settings
}

// Rows is a result that streams from a backend. It holds a connection until Close or until Next returned an error. Its
// methods are for one goroutine.
type Rows struct {
	ctx     context.Context // of the statement: its end explains a failure
	pool    *pool
	tx      *transaction
	reader  *pgconn.ResultReader
	columns []pgconn.FieldDescription
	tag     pgconn.CommandTag
	done    error // what Next returns from now on
}

// Shadow runs a statement on the shadow. Errors are *pgconn.PgError as the shadow words them, or pgerr's own.
func (b *Backend) Shadow(ctx context.Context, r Request) (*Rows, error) {
	return b.shadow.rows(ctx, r, r.Settings.clientPins(b.path))
}

// Public runs a statement on the connection that reads public tables.
func (b *Backend) Public(ctx context.Context, r Request) (*Rows, error) {
	if b.public == nil {
		return nil, b.policy.MissingDSN("public")
	}
	return b.public.rows(ctx, r, r.Settings.clientPins(b.path))
}

// rows starts a statement. A connection that died while it was idle (the server was restarted) is replaced once: nothing
// has reached the client yet, and the statement changes nothing.
func (p *pool) rows(ctx context.Context, r Request, pins []pin) (*Rows, error) {
	for attempt := 0; ; attempt++ {
		conn, err := p.acquire(ctx)
		if err != nil {
			return nil, err
		}
		rows, err := p.start(ctx, conn, r, pins)
		if err == nil {
			return rows, nil
		}
		if attempt > 0 || ctx.Err() != nil || !connectionLost(err) {
			return nil, p.clientError(ctx, err)
		}
		p.pool.Reset()
	}
}

func (p *pool) start(ctx context.Context, conn *pgxpool.Conn, r Request, pins []pin) (*Rows, error) {
	tx := beginGuarded(ctx, conn, pins)
	tx.pipeline.SendQueryParams(r.SQL, r.Parameters, r.Types, r.Formats, r.ResultFormats)
	err := tx.send()
	var reader *pgconn.ResultReader
	if err == nil {
		reader, err = tx.reader()
	}
	if err != nil {
		_ = tx.end() // the first error is the one that explains
		return nil, err
	}
	return &Rows{ctx: ctx, pool: p, tx: tx, reader: reader, columns: slices.Clone(reader.FieldDescriptions())}, nil
}

// clientError reduces a failure on shadow or public to what a client may see: PostgreSQL's own words about its statement, and
// a fixed text about everything else.
func (p *pool) clientError(ctx context.Context, err error) error {
	var pgError *pgconn.PgError
	var long *pgproto3.ExceededMaxBodyLenErr
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &pgError) && !connectionLost(err):
		return pgError
	case errors.As(err, &long):
		return pgerr.New(pgerr.ProgramLimitExceeded, fmt.Sprintf("a row of the result has %d bytes, more than %d", long.ActualBodyLen, long.MaxExpectedBodyLen),
			pgerr.Hint("Return shorter values."))
	}
	return p.unreachable(err)
}

// Columns describes the rows, in the formats that were asked for; nil: the statement returns none.
func (r *Rows) Columns() []pgconn.FieldDescription { return r.columns }

// Tag returns the command tag, once Next has returned io.EOF.
func (r *Rows) Tag() string { return r.tag.String() }

// Next returns the raw values of the next row, valid until the following call, or io.EOF after the last one.
func (r *Rows) Next() ([][]byte, error) {
	if r.done != nil {
		return nil, r.done
	}
	if r.reader.NextRow() {
		return r.reader.Values(), nil
	}
	tag, err := r.reader.Close()
	if end := r.tx.end(); err == nil {
		err = end
	}
	r.tag, r.done = tag, io.EOF
	if err != nil {
		r.done = r.pool.clientError(r.ctx, err)
	}
	return nil, r.done
}

// drainTime is how long Close reads on before it gives the connection up: cheaper than a new one.
const drainTime = 50 * time.Millisecond

// Close gives the connection back; it may be called at any time and more than once. What was not read is discarded. Where
// much is left, the statement is cancelled and the connection closed: a late cancel must not hit whoever gets it next.
func (r *Rows) Close() {
	if r.done != nil {
		return
	}
	r.done = errClosed
	conn := r.tx.conn.Conn().PgConn()
	cancelled := make(chan struct{})
	timer := time.AfterFunc(drainTime, func() {
		defer close(cancelled)
		ctx, cancel := context.WithTimeout(context.Background(), cancelGrace)
		defer cancel()
		_ = conn.CancelRequest(ctx) // if it fails, closing the connection has to do
	})
	// Errors of a statement that nobody waits for are nobody's.
	_, _ = r.reader.Close()
	if timer.Stop() {
		_ = r.tx.end()
		return
	}
	<-cancelled
	ctx, cancel := context.WithTimeout(context.Background(), cancelGrace)
	defer cancel()
	_ = conn.Close(ctx)
	r.tx.conn.Release()
}

var errClosed = errors.New("rows are closed")

// Each calls f for all rows, and closes them.
func (r *Rows) Each(f func([][]byte)) error {
	defer r.Close()
	for {
		row, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		f(row)
	}
}
