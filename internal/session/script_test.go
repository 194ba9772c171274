package session

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/dpproxy/dpproxy/internal/wire"
	"github.com/dpproxy/dpproxy/internal/wire/wiretest"
)

// TestScripts runs testdata/script, whose messages are written as those of internal/wire are. The commands:
//
//	exchange   sends the messages in the input, and prints what comes back and what the engine is asked, in order
//	scopes     prints for whom and how statements have been bound since the last time
//
// and their arguments: new opens a session with a budget of ten statements, budget=COUNT leaves so many, and with
// reload=COUNT so many charges come behind a reload. -rewrite updates the files.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/script", func(t *testing.T, path string) {
		var c *conversation
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.HasArg("new") {
				c = open(t, nil)
			}
			d.MaybeScanArgs(t, "budget", &c.engine.budget)
			d.MaybeScanArgs(t, "reload", &c.engine.reloads)
			var lines []string
			switch d.Cmd {
			case "exchange":
				lines = c.say(t, d.Input)
			case "scopes":
				for _, s := range c.engine.scopes {
					lines = append(lines, fmt.Sprintf("%s %s %s %d epsilon=%g TimeZone=%s",
						s.Analyst, s.User, s.Database, s.ProcessID, s.Settings.Epsilon(), s.Settings.TimeZone()))
				}
				c.engine.scopes = nil
			default:
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			return strings.Join(lines, "\n") + "\n"
		})
	})
}

// conversation is the client of one session, beside the wire. It writes what it gets into the engine's log.
type conversation struct {
	*Session
	engine *fakeEngine
	skip   bool // an error was sent: messages are ignored until Sync
	gone   bool // the client has closed the connection when the first message comes
}

// open starts a session with a budget of ten statements.
func open(t testing.TB, parameters map[string]string) *conversation {
	t.Helper()
	e := &fakeEngine{budget: 10}
	s, err := NewHandler(e).Open(context.Background(), wire.Startup{
		Analyst: "alice", User: "al", Database: "clinic", ProcessID: 7,
		Parameters: parameters, Notice: func(*pgconn.Notice) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Parameters()
	return &conversation{Session: s.(*Session), engine: e}
}

// ask runs a simple query, and returns what the client gets and the engine is asked.
func (c *conversation) ask(t testing.TB, sql string) []string {
	t.Helper()
	return c.say(t, "Q "+sql)
}

// say sends messages of a script, and returns what the client gets and the engine is asked.
func (c *conversation) say(t testing.TB, script string) []string {
	t.Helper()
	c.engine.log = nil
	for _, m := range wiretest.Messages(t, script) {
		_, sync := m.(*pgproto3.Sync)
		if c.skip && !sync {
			continue
		}
		if err := c.handle(context.Background(), m); err != nil {
			c.fail(err)
		}
		if _, simple := m.(*pgproto3.Query); sync || simple {
			c.ready()
		}
	}
	return c.engine.log
}

// handle answers one message as the wire does.
func (c *conversation) handle(ctx context.Context, message pgproto3.FrontendMessage) error {
	switch m := message.(type) {
	case *pgproto3.Query:
		return c.Query(ctx, m.String, c)
	case *pgproto3.Parse:
		return c.reply(c.Parse(ctx, m.Name, m.Query, m.ParameterOIDs), &pgproto3.ParseComplete{})
	case *pgproto3.Bind:
		return c.reply(c.Bind(ctx, wire.Bind{
			Portal: m.DestinationPortal, Statement: m.PreparedStatement,
			ParameterFormats: m.ParameterFormatCodes, Parameters: m.Parameters, ResultFormats: m.ResultFormatCodes,
		}), &pgproto3.BindComplete{})
	case *pgproto3.Describe:
		if m.ObjectType == 'S' {
			types, columns, err := c.DescribeStatement(ctx, m.Name)
			return c.described(columns, c.reply(err, &pgproto3.ParameterDescription{ParameterOIDs: types}))
		}
		return c.described(c.DescribePortal(ctx, m.Name))
	case *pgproto3.Execute:
		return c.Execute(ctx, m.Portal, m.MaxRows, c)
	case *pgproto3.Close:
		if m.ObjectType == 'S' {
			c.CloseStatement(m.Name)
		} else {
			c.ClosePortal(m.Name)
		}
		return c.reply(nil, &pgproto3.CloseComplete{})
	}
	return nil
}

// reply writes down what the client gets, unless there is an error.
func (c *conversation) reply(err error, m pgproto3.BackendMessage) error {
	if err == nil {
		c.engine.log = append(c.engine.log, wiretest.Render(m))
	}
	return err
}

func (c *conversation) described(columns []pgconn.FieldDescription, err error) error {
	if err == nil && columns != nil {
		return c.RowDescription(columns)
	}
	return c.reply(err, &pgproto3.NoData{})
}

// fail writes down an error; the wire gives one that is not PostgreSQL's another text.
func (c *conversation) fail(err error) {
	e := &pgconn.PgError{Severity: "ERROR", Code: "XX000", Message: err.Error()}
	errors.As(err, &e)
	c.reply(nil, &pgproto3.ErrorResponse{Severity: e.Severity, Code: e.Code, Message: e.Message, Position: e.Position})
	c.skip = true
}

// ready ends messages as the wire does.
func (c *conversation) ready() {
	for _, p := range c.Sync(c.skip) {
		c.reply(nil, &pgproto3.ParameterStatus{Name: p.Name, Value: p.Value})
	}
	c.skip = false
	c.reply(nil, &pgproto3.ReadyForQuery{TxStatus: c.TransactionStatus()})
}

func (c *conversation) RowDescription(columns []pgconn.FieldDescription) error {
	if c.gone {
		return net.ErrClosed
	}
	m := &pgproto3.RowDescription{}
	for _, f := range columns {
		m.Fields = append(m.Fields, pgproto3.FieldDescription{
			Name: []byte(f.Name), DataTypeOID: f.DataTypeOID, DataTypeSize: f.DataTypeSize,
			TypeModifier: f.TypeModifier, Format: f.Format,
		})
	}
	return c.reply(nil, m)
}

func (c *conversation) DataRow(values [][]byte) error {
	return c.reply(nil, &pgproto3.DataRow{Values: values})
}

func (c *conversation) CommandComplete(tag string) error {
	return c.reply(nil, &pgproto3.CommandComplete{CommandTag: []byte(tag)})
}

func (c *conversation) EmptyQuery() error      { return c.reply(nil, &pgproto3.EmptyQueryResponse{}) }
func (c *conversation) PortalSuspended() error { return c.reply(nil, &pgproto3.PortalSuspended{}) }

func (c *conversation) Notice(n *pgconn.Notice) error {
	return c.reply(nil, &pgproto3.NoticeResponse{Severity: n.Severity, Code: n.Code, Message: n.Message})
}

func (c *conversation) CopyOut(format byte, columns int) error {
	return c.reply(nil, &pgproto3.CopyOutResponse{OverallFormat: format, ColumnFormatCodes: make([]uint16, columns)})
}

func (c *conversation) CopyData(data []byte) error {
	return c.reply(nil, &pgproto3.CopyData{Data: data})
}
func (c *conversation) CopyDone() error { return c.reply(nil, &pgproto3.CopyDone{}) }
