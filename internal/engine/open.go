package engine

import (
	"context"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/rewrite"
	"github.com/dpproxy/dpproxy/internal/session"
)

// open is a bound statement that touches no private relation: it runs on the shadow, as public or on the synthetic
// twin, as the client wrote it.
type open struct {
	*call
	supplied [][]byte // values of the parameters that rewrite added behind the client's, in text form
}

func (c *call) bindOpen(ctx context.Context) (*open, error) {
	o := &open{call: c}
	for _, s := range c.analysis.Supplies {
		value, err := c.supply(ctx, s)
		if err != nil {
			return nil, err
		}
		o.supplied = append(o.supplied, value)
	}
	c.past = nil // it may be long
	return o, nil
}

// verdicts are what such statements are counted as.
var verdicts = map[rewrite.Route]string{
	rewrite.RouteShadow: "shadow", rewrite.RoutePublic: "public", rewrite.RouteSynthetic: "synthetic",
}

// Execute starts the statement; its rows stream from the backend.
func (o *open) Execute(ctx context.Context) (session.Rows, error) {
	rows, err := o.execute(ctx)
	if err != nil {
		o.leave()
		return nil, err
	}
	return rows, nil
}

func (o *open) execute(ctx context.Context) (*openRows, error) {
	if err := o.engine.mayRead(o.analysis.Route); err != nil {
		return nil, err
	}
	r := backend.Request{
		SQL: o.analysis.SQL, Parameters: o.values, Types: o.analysis.parameters, Formats: o.formats,
		ResultFormats: o.resultFormats, Settings: backendSettings(o.scope), Repeats: !o.analysis.Clock,
	}
	if len(o.supplied) > 0 {
		r.Parameters, r.Formats = nil, nil
		for i, v := range o.values {
			r.Parameters, r.Formats = append(r.Parameters, v), append(r.Formats, backend.FormatAt(o.formats, i))
		}
		for _, v := range o.supplied {
			r.Parameters, r.Formats = append(r.Parameters, v), append(r.Formats, 0)
		}
	}
	o.counted(verdicts[o.analysis.Route])
	return o.start(ctx, o.analysis.Route, r)
}

// start runs a statement as one of those that the analyst may run there at a time. It has left its state when its rows
// are read, or closed.
func (c *call) start(ctx context.Context, on rewrite.Route, r backend.Request) (*openRows, error) {
	release, err := c.state.quotas[on].Acquire(ctx, c.scope.Analyst)
	if err != nil {
		return nil, err
	}
	rows, err := c.state.databases.Run(ctx, on, r)
	if err != nil {
		release()
		return nil, err
	}
	return &openRows{backendRows: rows, columns: c.columns(), notices: c.warnings(), release: func() {
		release()
		c.leave()
	}}, nil
}

// openRows describes a backend's rows to the client, and gives up the analyst's quota with their connection.
type openRows struct {
	backendRows
	columns []pgconn.FieldDescription
	notices []*pgconn.Notice
	release func()
}

// Close may be called more than once.
func (r *openRows) Close() {
	r.backendRows.Close()
	r.release()
}

// Next gives up the quota when the connection is free: a client that is done need not close the portal at once.
func (r *openRows) Next() ([][]byte, error) {
	row, err := r.backendRows.Next()
	if err != nil {
		r.release()
	}
	return row, err
}

func (r *openRows) Columns() []pgconn.FieldDescription { return r.columns }
func (r *openRows) Notices() []*pgconn.Notice          { return r.notices }
