package backend

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// Describe has the shadow prepare a statement and forget it again: PostgreSQL's check of syntax, names and types.
// Its objections come back as *pgconn.PgError, position included. A nil or 0 parameter type is inferred. A statement
// that returns no rows has no Fields.
func (b *Backend) Describe(ctx context.Context, sql string, types []uint32, s Settings) (*pgconn.StatementDescription,
	error,
) {
	return b.DescribeOn(ctx, rewrite.RouteShadow, sql, types, s)
}

// DescribeOn is Describe where the statement will run: the shadow, or public for RoutePublic.
func (b *Backend) DescribeOn(ctx context.Context, route rewrite.Route, sql string, types []uint32, s Settings) (
	*pgconn.StatementDescription, error,
) {
	p, pins := b.shadow, b.pins(answering, s)
	if route == rewrite.RoutePublic {
		if p, pins = b.public, b.pins(reading, s); p == nil {
			return nil, b.policy.MissingDSN("public")
		}
	}
	for attempt := 0; ; attempt++ {
		conn, err := p.acquire(ctx)
		if err != nil {
			return nil, err
		}
		description, err := describe(ctx, conn, sql, types, pins)
		if err == nil {
			return description, nil
		}
		if attempt > 0 || ctx.Err() != nil || !connectionLost(err) {
			return nil, p.clientError(ctx, err)
		}
		p.pool.Reset()
	}
}

func describe(ctx context.Context, conn *pgxpool.Conn, sql string, types []uint32, pins *pinSet) (
	*pgconn.StatementDescription, error,
) {
	g, err := guard(ctx, conn, pins, &pgproto3.Parse{Query: sql, ParameterOIDs: types}, &pgproto3.Describe{
		ObjectType: 'S',
	})
	if err != nil {
		return nil, err
	}
	description := &pgconn.StatementDescription{}
	for described := false; !described && g.err == nil; {
		switch m := g.receive().(type) {
		case *pgproto3.ParameterDescription:
			description.ParamOIDs = slices.Clone(m.ParameterOIDs)
		case *pgproto3.RowDescription:
			description.Fields, described = columnsOf(m), true
		case *pgproto3.NoData:
			described = true
		}
	}
	if err := g.end(); err != nil {
		return nil, err
	}
	return description, nil
}

// CheckSetting has the shadow judge a setting's value ("TimeZone", "DateStyle", "IntervalStyle") and returns it as SHOW
// prints it. A value that PostgreSQL does not take is 22023 in PostgreSQL's words.
func (b *Backend) CheckSetting(ctx context.Context, name, value string) (string, error) {
	rows, err := b.Shadow(ctx, Request{
		SQL:        "SELECT pg_catalog.set_config($1, $2, true)",
		Parameters: [][]byte{[]byte(name), []byte(value)},
		Types:      []uint32{textOID, textOID},
	})
	if err != nil {
		return "", err
	}
	defer rows.Close()
	values, err := rows.Next()
	if err != nil {
		return "", err
	}
	if len(values) != 1 || values[0] == nil {
		return "", errors.New("set_config returned nothing")
	}
	// set_config echoes the canonical value for TimeZone and DateStyle alike.
	return string(values[0]), nil
}
