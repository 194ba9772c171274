package engine

import (
	"context"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/rewrite"
	"github.com/dpproxy/dpproxy/internal/session"
)

// open is a bound statement that touches no private relation: it runs on the shadow or as public, as the client wrote it.
type open struct {
	*call
	supplied [][]byte // values of the parameters that rewrite added behind the client's, in text form
}

func (c *call) bindOpen(ctx context.Context) (session.Bound, error) {
	o := &open{call: c}
	for _, s := range c.analysis.Supplies {
		value, err := c.supply(ctx, s)
		if err != nil {
			return nil, err
		}
		o.supplied = append(o.supplied, value)
	}
	return o, nil
}

// Execute starts the statement; its rows stream from the backend.
func (o *open) Execute(ctx context.Context) (session.Rows, error) {
	if err := o.current(); err != nil {
		return nil, err
	}
	r := backend.Request{
		SQL: o.analysis.SQL, Parameters: o.values, Types: o.analysis.parameters, Formats: o.formats,
		ResultFormats: o.resultFormats, Settings: backendSettings(o.scope),
	}
	if len(o.supplied) > 0 {
		r.Parameters, r.Formats = nil, nil
		for i, v := range o.values {
			r.Parameters, r.Formats = append(r.Parameters, v), append(r.Formats, formatAt(o.formats, i))
		}
		for _, v := range o.supplied {
			r.Parameters, r.Formats = append(r.Parameters, v), append(r.Formats, 0)
		}
	}
	run, verdict := o.state.backend.Shadow, "shadow"
	if o.analysis.Route == rewrite.RoutePublic {
		run, verdict = o.state.backend.Public, "public"
	}
	o.engine.metrics.Statement(verdict)
	give, err := o.state.shares[o.analysis.Route].take(ctx, o.scope.Analyst)
	if err != nil {
		return nil, err
	}
	rows, err := run(ctx, r)
	if err != nil {
		give()
		return nil, err
	}
	return &openRows{Rows: rows, columns: o.columns(), give: give}, nil
}

// openRows adds to a backend's rows what the client is told of them.
type openRows struct {
	*backend.Rows
	columns []pgconn.FieldDescription
	give    func() // the connection's share
}

// Close may be called more than once.
func (r *openRows) Close() {
	r.Rows.Close()
	r.give()
}

// Next gives the share back with the connection: a client that is done need not close the portal at once.
func (r *openRows) Next() ([][]byte, error) {
	row, err := r.Rows.Next()
	if err != nil {
		r.give()
	}
	return row, err
}

func (r *openRows) Columns() []pgconn.FieldDescription { return r.columns }
func (r *openRows) Notices() []*pgconn.Notice          { return nil }
