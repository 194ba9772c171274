package wire

import (
	"context"

	"github.com/jackc/pgproto3/v2"
	"github.com/jackc/pgx/v5/pgconn"
)

// extended answers one message of the extended protocol. Nothing is flushed: the client asks for it by Flush or Sync.
func (c *conn) extended(f frame) error {
	message, err := decode(f.kind, f.body)
	if err != nil {
		return err
	}
	for _, s := range texts(message) {
		if *s, err = c.text(*s); err != nil {
			return err
		}
	}
	return c.run(func(ctx context.Context) error {
		switch m := message.(type) {
		case *pgproto3.Parse:
			return c.parse(ctx, m)
		case *pgproto3.Bind:
			return c.bind(ctx, m)
		case *pgproto3.Describe:
			return c.describe(ctx, m)
		case *pgproto3.Execute:
			return c.session.Execute(ctx, m.Portal, m.MaxRows, results{c.w})
		case *pgproto3.Close:
			return c.close(m)
		}
		return violation("invalid frontend message type %d", f.kind)
	})
}

// texts are the strings of a message.
func texts(message pgproto3.FrontendMessage) []*string {
	switch m := message.(type) {
	case *pgproto3.Parse:
		return []*string{&m.Name, &m.Query}
	case *pgproto3.Bind:
		return []*string{&m.DestinationPortal, &m.PreparedStatement}
	case *pgproto3.Describe:
		return []*string{&m.Name}
	case *pgproto3.Execute:
		return []*string{&m.Portal}
	case *pgproto3.Close:
		return []*string{&m.Name}
	}
	return nil
}

func (c *conn) parse(ctx context.Context, m *pgproto3.Parse) error {
	if err := c.session.Parse(ctx, m.Name, m.Query, m.ParameterOIDs); err != nil {
		return err
	}
	return c.w.send(&pgproto3.ParseComplete{})
}

func (c *conn) bind(ctx context.Context, m *pgproto3.Bind) error {
	err := c.session.Bind(ctx, Bind{
		Portal: m.DestinationPortal, Statement: m.PreparedStatement,
		ParameterFormats: m.ParameterFormatCodes, Parameters: m.Parameters, ResultFormats: m.ResultFormatCodes,
	})
	if err != nil {
		return err
	}
	return c.w.send(&pgproto3.BindComplete{})
}

func (c *conn) describe(ctx context.Context, m *pgproto3.Describe) error {
	var columns []pgconn.FieldDescription
	var err error
	if m.ObjectType == 'S' {
		var types []uint32
		if types, columns, err = c.session.DescribeStatement(ctx, m.Name); err != nil {
			return err
		}
		if err := c.w.send(&pgproto3.ParameterDescription{ParameterOIDs: types}); err != nil {
			return err
		}
	} else if columns, err = c.session.DescribePortal(ctx, m.Name); err != nil {
		return err
	}
	if columns == nil {
		return c.w.send(&pgproto3.NoData{})
	}
	return c.w.rowDescription(columns)
}

func (c *conn) close(m *pgproto3.Close) error {
	if m.ObjectType == 'S' {
		c.session.CloseStatement(m.Name)
	} else {
		c.session.ClosePortal(m.Name)
	}
	return c.w.send(&pgproto3.CloseComplete{})
}
