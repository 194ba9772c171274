package backend

import (
	"cmp"
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

// Request is a statement for shadow or public. Parameters are in the formats that Formats names (length 0, 1 or n, as
// in Bind); a nil parameter is NULL.
type Request struct {
	SQL           string
	Parameters    [][]byte
	Types         []uint32 // 0, or a short list: PostgreSQL infers
	Formats       []int16
	ResultFormats []int16
	Settings      Settings
	Repeats       bool // SQL means the same whenever it is parsed, and may come again: it reads no clock
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
	return b.shadow.rows(ctx, r, b.pins(answering, r.Settings))
}

// Public runs a statement on the connection that reads public tables.
func (b *Backend) Public(ctx context.Context, r Request) (*Rows, error) {
	if b.public == nil {
		return nil, b.policy.MissingDSN("public")
	}
	return b.public.read(ctx, r, b.pins(reading, r.Settings))
}

// firstOwn is the first number of a type that is not PostgreSQL's own (FirstNormalObjectId, access/transam.h).
const firstOwn = 16384

// read starts a statement on another database than the shadow. Types that are not built in have other numbers there:
// they follow from where their parameters stand, as they did on the shadow.
func (p *pool) read(ctx context.Context, r Request, pins *pinSet) (*Rows, error) {
	r.Types = slices.Clone(r.Types)
	for i, oid := range r.Types {
		if oid >= firstOwn {
			r.Types[i] = 0
		}
	}
	return p.rows(ctx, r, pins)
}

// rows starts a statement. A connection that died while it was idle (the server was restarted) is replaced once, and so
// is a statement whose tables have changed since it was prepared: nothing has reached the client yet, and the statement
// changes nothing.
func (p *pool) rows(ctx context.Context, r Request, pins *pinSet) (*Rows, error) {
	for attempt := 0; ; attempt++ {
		conn, err := p.acquire(ctx)
		if err != nil {
			return nil, err
		}
		rows, stale, err := p.start(ctx, conn, r, pins)
		lost := err != nil && !stale && connectionLost(err)
		switch {
		case err == nil:
			return rows, nil
		case attempt > 0 || ctx.Err() != nil || !lost && !stale:
			return nil, p.clientError(ctx, err)
		case lost:
			p.pool.Reset()
		}
	}
}

// start begins a statement. stale says that it failed because of how it had been prepared.
func (p *pool) start(ctx context.Context, conn *pgxpool.Conn, r Request, pins *pinSet) (_ *Rows, stale bool, _ error) {
	known, s, key := pinnedOf(conn.Conn()), &statement{}, statementKey{}
	if r.Repeats && short(r.Parameters) {
		key = statementKey{r.SQL, typesKey(r.Types), pins}
		s = known.find(p, key)
	}
	bind := pgproto3.Bind{ParameterFormatCodes: r.Formats, Parameters: r.Parameters, ResultFormatCodes: r.ResultFormats}
	g, err := guard(ctx, conn, pins, s.messages(r.SQL, r.Types, bind)...)
	if err != nil {
		return nil, false, err
	}
	rows := &Rows{ctx: ctx, pool: p, guarded: g}
	for {
		switch m := g.receive().(type) {
		case nil:
			stale = known.forget(key, g.err)
			return nil, stale, g.end()
		case *pgproto3.ParseComplete:
			known.prepared(key, s)
		case *pgproto3.BindComplete:
			if s.columns != nil {
				rows.columns = formatted(s.columns, r.ResultFormats)
				return rows, false, nil
			}
		case *pgproto3.RowDescription:
			rows.columns = columnsOf(m)
			s.columns = formatted(rows.columns, nil)
			return rows, false, nil
		case *pgproto3.NoData:
			if _, err := rows.next(); !errors.Is(err, io.EOF) {
				return nil, false, err
			}
			rows.done = io.EOF
			return rows, false, nil
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

// clientError reduces a failure on shadow or public to what a client may see: PostgreSQL's own words about its
// statement, and a fixed text about everything else.
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
		return pgerr.New(pgerr.ProgramLimitExceeded, fmt.Sprintf("a row of the result has %d bytes, more than %d",
			long.ActualBodyLen, long.MaxExpectedBodyLen),
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

// Close gives the connection back; it may be called at any time and more than once. What was not read is discarded.
// Where much is left, the statement is cancelled and the connection closed: a late cancel must not hit whoever gets it
// next.
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
