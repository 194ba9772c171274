package engine

import (
	"context"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/gate"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// databases are the connections of one policy, as far as the engine uses them.
type databases interface {
	// Use keeps the connections open until Leave, unless they are being closed.
	Use() bool
	Leave()

	// Schema and ServerParameters read catalogs when a policy is loaded.
	Schema(ctx context.Context) (*rewrite.Schema, error)
	Fits(ctx context.Context, s *rewrite.Schema) (bool, error)
	ServerParameters(ctx context.Context) (map[string]string, error)

	// The shadow checks statements, settings and values.
	Describe(ctx context.Context, sql string, types []uint32, s backend.Settings) (*pgconn.StatementDescription, error)
	DescribeOn(ctx context.Context, route rewrite.Route, sql string, types []uint32, s backend.Settings) (
		*pgconn.StatementDescription, error)
	CheckSetting(ctx context.Context, name, value string) (string, error)
	Constants(ctx context.Context, p backend.Parameters, c rewrite.Constants, s backend.Settings) (*backend.Constants,
		error)
	Evaluate(ctx context.Context, q rewrite.Query, s backend.Settings) (*rewrite.Table, error)
	PublicRows(ctx context.Context, q rewrite.Query, s backend.Settings) (*rewrite.Table, error)
	Distinct(ctx context.Context, c policy.ColumnOf, oid uint32, s backend.Settings) ([]rewrite.Canonical, error)

	// Main parses measure queries, and runs them.
	CheckMeasure(ctx context.Context, m backend.Measurement) error
	gate.Main

	// StageRows answers a stage of a statement, or reads a query over public tables, of so many columns.
	StageRows(ctx context.Context, on rewrite.Route, r backend.Request, columns int, list rewrite.Query) (
		[][]*rewrite.Canonical, error)

	// Drawn reports whether the synthetic twin has rows.
	Drawn(ctx context.Context) (bool, error)

	// Run starts a statement on the shadow or, for RoutePublic and RouteSynthetic, on the connection that reads public
	// tables or the twin.
	Run(ctx context.Context, route rewrite.Route, r backend.Request) (backendRows, error)
}

// backendRows is a result that holds a connection until Next has returned an error or Close is called.
type backendRows interface {
	Next() ([][]byte, error)
	Tag() string
	Close()
}

// connections makes a backend the engine's databases.
type connections struct{ *backend.Backend }

func (c connections) Run(ctx context.Context, route rewrite.Route, r backend.Request) (backendRows, error) {
	run := c.Shadow
	switch route {
	case rewrite.RoutePublic:
		run = c.Public
	case rewrite.RouteSynthetic:
		run = c.Synthetic
	}
	rows, err := run(ctx, r)
	if err != nil {
		return nil, err // an interface of a nil pointer would not be nil
	}
	return rows, nil
}
