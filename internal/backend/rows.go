package backend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
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
	guarded *guarded
	columns []pgconn.FieldDescription
	tag     string
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
	g, err := guard(ctx, conn, pins, &pgproto3.Parse{Query: r.SQL, ParameterOIDs: r.Types},
		&pgproto3.Bind{ParameterFormatCodes: r.Formats, Parameters: r.Parameters, ResultFormatCodes: r.ResultFormats},
		&pgproto3.Describe{ObjectType: 'P'}, &pgproto3.Execute{})
	if err != nil {
		return nil, err
	}
	rows := &Rows{ctx: ctx, pool: p, guarded: g}
	for {
		switch m := g.receive().(type) {
		case nil:
			return nil, g.end()
		case *pgproto3.RowDescription:
			rows.columns = columnsOf(m)
			return rows, nil
		case *pgproto3.NoData:
			if _, err := rows.next(); !errors.Is(err, io.EOF) {
				return nil, err
			}
			rows.done = io.EOF
			return rows, nil
		}
	}
}

// columnsOf copies a description out of the connection's buffer.
func columnsOf(m *pgproto3.RowDescription) []pgconn.FieldDescription {
	columns := make([]pgconn.FieldDescription, len(m.Fields))
	for i, f := range m.Fields {
		columns[i] = pgconn.FieldDescription{
			Name: string(f.Name), TableOID: f.TableOID, TableAttributeNumber: f.TableAttributeNumber,
			DataTypeOID: f.DataTypeOID, DataTypeSize: f.DataTypeSize, TypeModifier: f.TypeModifier, Format: f.Format,
		}
	}
	return columns
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
func (r *Rows) Tag() string { return r.tag }

// Next returns the raw values of the next row, valid until the following call, or io.EOF after the last one.
func (r *Rows) Next() ([][]byte, error) {
	if r.done != nil {
		return nil, r.done
	}
	values, err := r.next()
	if err != nil && !errors.Is(err, io.EOF) {
		err = r.pool.clientError(r.ctx, err)
	}
	r.done = err
	return values, err
}

// next gives the connection back behind the last row.
func (r *Rows) next() ([][]byte, error) {
	for {
		switch m := r.guarded.receive().(type) {
		case *pgproto3.DataRow:
			return m.Values, nil
		case *pgproto3.CommandComplete:
			r.tag = string(m.CommandTag)
			return nil, cmp.Or(r.guarded.end(), io.EOF)
		case nil, *pgproto3.EmptyQueryResponse:
			return nil, cmp.Or(r.guarded.end(), io.EOF)
		}
	}
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
	cancelled := make(chan struct{})
	timer := time.AfterFunc(drainTime, func() {
		defer close(cancelled)
		ctx, cancel := context.WithTimeout(context.Background(), cancelGrace)
		defer cancel()
		_ = r.guarded.pg.CancelRequest(ctx) // if it fails, closing the connection has to do
	})
	r.guarded.drain()
	if !timer.Stop() {
		<-cancelled
		discard(r.guarded.pg)
	}
	_ = r.guarded.end() // errors of a statement that nobody waits for are nobody's
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
