package session

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/wire"
)

// conversation is a client of one session. What it gets and what the engine is asked are written into one log, in order.
type conversation struct {
	*fakeEngine
	session *Session
	skip    bool // an error was sent: extended messages are ignored until Sync
}

func (c *conversation) add(format string, args ...any) error {
	c.log = append(c.log, strings.TrimSpace(fmt.Sprintf(format, args...)))
	return nil
}

func (c *conversation) RowDescription(columns []pgconn.FieldDescription) error {
	return c.add("T %s", describe(columns))
}

func (c *conversation) DataRow(values [][]byte) error {
	texts := make([]string, len(values))
	for i, v := range values {
		switch texts[i] = string(v); {
		case v == nil:
			texts[i] = "NULL"
		case bytes.ContainsFunc(v, unicode.IsControl):
			texts[i] = fmt.Sprintf("%q", v)
		}
	}
	return c.add("D %s", strings.Join(texts, " | "))
}

func (c *conversation) CommandComplete(tag string) error { return c.add("C %s", tag) }
func (c *conversation) EmptyQuery() error                { return c.add("I") }
func (c *conversation) PortalSuspended() error           { return c.add("s") }
func (c *conversation) Notice(n *pgconn.Notice) error    { return c.add("N %s %s", n.Severity, n.Message) }

func (c *conversation) CopyOut(format byte, columns int) error {
	return c.add("H %d %d", format, columns)
}
func (c *conversation) CopyData(data []byte) error { return c.add("d %q", data) }
func (c *conversation) CopyDone() error            { return c.add("c") }

// describe prints columns with their types, and a b where they are binary.
func describe(columns []pgconn.FieldDescription) string {
	var out []string
	for _, f := range columns {
		out = append(out, f.Name+":"+strconv.Itoa(int(f.DataTypeOID))+strings.Repeat("b", int(f.Format)))
	}
	return strings.Join(out, " ")
}

// fail writes down an error as the wire sends it.
func (c *conversation) fail(err error) {
	e, ok := err.(*pgconn.PgError)
	switch {
	case err == nil:
		return
	case !ok:
		c.add("E XX000 %v", err)
	case e.Position > 0:
		c.add("E %s %s at %d", e.Code, e.Message, e.Position)
	default:
		c.add("E %s %s", e.Code, e.Message)
	}
	c.skip = true
}

// sync ends a message as the wire does.
func (c *conversation) sync() {
	for _, p := range c.session.Sync(c.skip) {
		c.add("S %s = %s", p.Name, p.Value)
	}
	c.skip = false
	c.add("Z %c", c.session.TransactionStatus())
}

// do plays one message of the client:
//
//	Q SQL                         simple query
//	P NAME SQL · P NAME 23,25: SQL   Parse, with types of parameters
//	B PORTAL STATEMENT VALUE…     Bind; b: before the values asks for binary results
//	DS NAME · DP NAME             Describe
//	E PORTAL ROWS                 Execute; 0 rows means all
//	CS NAME · CP NAME             Close
//	S                             Sync
//
// An underscore is the unnamed statement or portal.
func (c *conversation) do(t *testing.T, line string) {
	t.Helper()
	ctx := context.Background()
	kind, rest, _ := strings.Cut(line, " ")
	words := strings.Fields(rest)
	for i := range words {
		if words[i] == "_" {
			words[i] = ""
		}
	}
	switch {
	case kind == "Q":
		c.fail(c.session.Query(ctx, rest, c))
		c.sync()
	case kind == "S":
		c.sync()
	case kind == "budget":
		c.budget, _ = strconv.Atoi(rest)
	case c.skip:
	case kind == "P":
		_, sql, _ := strings.Cut(rest, " ")
		var types []uint32
		if list, text, ok := strings.Cut(sql, ": "); ok {
			for _, oid := range strings.Split(list, ",") {
				n, _ := strconv.Atoi(oid)
				types = append(types, uint32(n))
			}
			sql = text
		}
		c.fail(c.session.Parse(ctx, words[0], sql, types))
	case kind == "B":
		b := wire.Bind{Portal: words[0], Statement: words[1]}
		for _, v := range words[2:] {
			switch v {
			case "b:":
				b.ResultFormats = []int16{1}
			case "bb:":
				b.ResultFormats = []int16{1, 1}
			case "binary:":
				b.ParameterFormats = []int16{1}
			case "NULL":
				b.Parameters = append(b.Parameters, nil)
			default:
				b.Parameters = append(b.Parameters, []byte(v))
			}
		}
		c.fail(c.session.Bind(ctx, b))
	case kind == "DS":
		types, columns, err := c.session.DescribeStatement(ctx, words[0])
		if c.fail(err); err == nil {
			c.add("t %v", types)
			c.described(columns)
		}
	case kind == "DP":
		columns, err := c.session.DescribePortal(ctx, words[0])
		if c.fail(err); err == nil {
			c.described(columns)
		}
	case kind == "E":
		n, _ := strconv.Atoi(words[1])
		c.fail(c.session.Execute(ctx, words[0], uint32(n), c))
	case kind == "CS":
		c.session.CloseStatement(words[0])
	case kind == "CP":
		c.session.ClosePortal(words[0])
	default:
		t.Fatalf("transcript line %q", line)
	}
}

func (c *conversation) described(columns []pgconn.FieldDescription) {
	if columns == nil {
		c.add("n")
		return
	}
	c.add("T %s", describe(columns))
}

// play plays a transcript: lines that begin with > are sent, the others are what has to come back.
func play(t *testing.T, transcript string) {
	t.Helper()
	s, e := mustOpen(t, nil)
	c := &conversation{fakeEngine: e, session: s}
	var got []string
	for _, line := range strings.Split(strings.TrimSpace(transcript), "\n") {
		line = strings.TrimSpace(line)
		if message, ok := strings.CutPrefix(line, "> "); ok {
			c.do(t, message)
			got = append(append(got, line), c.log...)
			c.log = nil
		}
	}
	want := strings.Split(strings.ReplaceAll(strings.TrimSpace(transcript), "\t", ""), "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s\ngot:\n%s", diff, strings.Join(got, "\n"))
	}
}
