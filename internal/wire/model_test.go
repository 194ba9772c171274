package wire_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
	"pgregory.net/rapid"

	"github.com/dpproxy/dpproxy/internal/wire/wiretest"
)

// model predicts what a server answers to messages of the extended protocol. It is written from the protocol's
// documentation and knows nothing of the implementation.
type model struct {
	statements map[string]string // name → text
	portals    map[string]*modelPortal
	status     byte
	skipping   bool
	erred      bool
	charged    []string
	// ghost: a simple query that failed inside a block leaves its portal behind, unnamed and of no use, in PostgreSQL.
	// Nobody relies on that: conversations keep away from it.
	ghost bool
}

type modelPortal struct {
	sql  string
	sent int // rows so far; past the end: finished
	ran  bool
	dead bool // its transaction has failed since it was made
}

const (
	sqlOne    = "SELECT 1 AS one"
	sqlFive   = "SELECT n FROM generate_series(1, 5) AS n"
	sqlFails  = "SELECT 10/(2-n) AS q FROM generate_series(1,2) n"
	sqlNoSuch = "SELECT nosuch"
)

var modelTexts = []string{
	sqlOne, sqlOne, sqlFive, sqlFive, sqlFive, sqlFive, sqlFails, sqlNoSuch, "BEGIN", "COMMIT",
	"ROLLBACK", "",
}

var modelRows = map[string][]string{sqlOne: {"1"}, sqlFive: {"1", "2", "3", "4", "5"}, sqlFails: {"10"}}

var modelColumns = map[string]string{
	sqlOne: "RowDescription one:23:4:-1:text", sqlFive: "RowDescription n:23:4:-1:text",
	sqlFails: "RowDescription q:23:4:-1:text",
}

func newModel() *model {
	return &model{statements: map[string]string{}, portals: map[string]*modelPortal{}, status: 'I'}
}

func (m *model) fail(code string) []string {
	m.skipping, m.erred = true, true
	return []string{"ErrorResponse " + code}
}

// blocked: a failed transaction takes nothing but its end.
func (m *model) blocked(sql string) bool {
	return m.status == 'E' && sql != "COMMIT" && sql != "ROLLBACK" && sql != ""
}

func (m *model) parse(name, sql string) []string {
	if name == "" {
		delete(m.statements, "")
	}
	switch {
	case m.blocked(sql):
		return m.fail("25P02")
	case sql == sqlNoSuch:
		return m.fail("42703")
	}
	if _, taken := m.statements[name]; taken {
		return m.fail("42P05")
	}
	m.statements[name] = sql
	return []string{"ParseComplete"}
}

func (m *model) bind(portal, statement string) []string {
	sql, ok := m.statements[statement]
	if !ok {
		return m.fail("26000")
	}
	if m.blocked(sql) || m.status == 'E' && sql == "" {
		return m.fail("25P02")
	}
	if _, taken := m.portals[portal]; taken && portal != "" {
		return m.fail("42P03")
	}
	m.portals[portal] = &modelPortal{sql: sql}
	return []string{"BindComplete"}
}

func (m *model) describe(kind byte, name string) []string {
	var out []string
	var sql string
	if kind == 'S' {
		text, ok := m.statements[name]
		if !ok {
			return m.fail("26000")
		}
		sql, out = text, []string{"ParameterDescription []"}
	} else {
		p, ok := m.portals[name]
		if !ok {
			return m.fail("34000")
		}
		sql = p.sql
	}
	columns, ok := modelColumns[sql]
	if !ok {
		return append(out, "NoData")
	}
	if m.status == 'E' {
		return m.fail("25P02")
	}
	return append(out, columns)
}

func (m *model) execute(name string, limit int) []string {
	p, ok := m.portals[name]
	switch {
	case !ok:
		return m.fail("34000")
	case p.sql == "":
		return []string{"EmptyQueryResponse"}
	case m.blocked(p.sql) || p.dead:
		return m.fail("25P02")
	case modelRows[p.sql] == nil:
		return m.control(p)
	}
	if !p.ran {
		m.charged = append(m.charged, p.sql)
	}
	rows := modelRows[p.sql]
	if p.sql == sqlFails {
		p.ran = true
		return append([]string{`DataRow "10"`}, m.fail("22012")...)
	}
	p.ran = true
	var out []string
	rest := rows[min(p.sent, len(rows)):]
	full := limit > 0 && len(rest) >= limit
	if full {
		rest = rest[:limit]
	}
	for _, r := range rest {
		out = append(out, fmt.Sprintf("DataRow %q", r))
	}
	p.sent += len(rest)
	if full {
		return append(out, "PortalSuspended")
	}
	return append(out, fmt.Sprintf("CommandComplete SELECT %d", len(rest)))
}

// control runs BEGIN, COMMIT or ROLLBACK; the last two take all portals with them.
func (m *model) control(p *modelPortal) []string {
	if p.ran {
		return m.fail("55000")
	}
	p.ran = true
	inside := m.status != 'I'
	failed := m.status == 'E'
	if p.sql == "BEGIN" {
		m.status = 'T'
		if inside {
			return []string{"NoticeResponse 25001", "CommandComplete BEGIN"}
		}
		return []string{"CommandComplete BEGIN"}
	}
	m.status = 'I'
	clear(m.portals)
	tag := "CommandComplete " + p.sql
	if failed {
		tag = "CommandComplete ROLLBACK"
	}
	if !inside {
		return []string{"NoticeResponse 25P01", tag}
	}
	return []string{tag}
}

func (m *model) sync() []string {
	if m.erred && m.status == 'T' {
		m.status = 'E'
		for _, p := range m.portals {
			p.dead = true
		}
	}
	if m.status == 'I' {
		clear(m.portals)
		m.ghost = false
	}
	m.skipping, m.erred = false, false
	return []string{"ReadyForQuery " + string(m.status)}
}

func (m *model) query(sql string) []string {
	delete(m.statements, "")
	if sql != "" && sql != sqlNoSuch && !m.blocked(sql) {
		delete(m.portals, "")
	}
	var out []string
	switch {
	case sql == "":
		out = []string{"EmptyQueryResponse"}
	case m.blocked(sql):
		out = m.fail("25P02")
	case sql == sqlNoSuch:
		out = m.fail("42703")
	case modelRows[sql] == nil:
		out = m.control(&modelPortal{sql: sql})
	default:
		out = append([]string{modelColumns[sql]}, m.execute2(sql)...)
		m.ghost = m.erred
	}
	return append(out, m.sync()...)
}

// execute2 runs a text of a simple query in a portal of its own.
func (m *model) execute2(sql string) []string {
	m.portals["\x00simple"] = &modelPortal{sql: sql}
	defer delete(m.portals, "\x00simple")
	return m.execute("\x00simple", 0)
}

// draw makes one message and the answer that the model expects.
func (m *model) draw(t *rapid.T) (pgproto3.FrontendMessage, []string) {
	names := []string{"", "a", "b"}
	name := rapid.SampledFrom(names).Draw(t, "name")
	statement := existing(t, "statement", m.statements, names)
	portal := existing(t, "portal", m.portals, names)
	if m.statements[name] != "" && rapid.Bool().Draw(t, "unnamed") {
		name = ""
	}
	sql := rapid.SampledFrom(modelTexts).Draw(t, "sql")
	kind := rapid.SampledFrom([]byte(m.likely())).Draw(t, "kind")
	if rapid.IntRange(0, 19).Draw(t, "any kind") == 19 {
		kind = rapid.SampledFrom([]byte("PBDECSQH")).Draw(t, "kind")
	}
	object := rapid.SampledFrom([]byte("SP")).Draw(t, "object")
	if object == 'S' {
		portal = statement
	} else if m.ghost && portal == "" {
		portal = "nosuch"
	}
	limit := rapid.SampledFrom([]int{0, 1, 2, 5, 6}).Draw(t, "limit")
	expect := func(f func() []string) []string {
		if m.skipping {
			return nil
		}
		return f()
	}
	switch kind {
	case 'P':
		return &pgproto3.Parse{Name: name, Query: sql}, expect(func() []string { return m.parse(name, sql) })
	case 'B':
		return &pgproto3.Bind{DestinationPortal: name, PreparedStatement: statement},
			expect(func() []string { return m.bind(name, statement) })
	case 'D':
		return &pgproto3.Describe{ObjectType: object, Name: portal},
			expect(func() []string { return m.describe(object, portal) })
	case 'E':
		portal = existing(t, "cursor", m.portals, names)
		if m.ghost && portal == "" {
			portal = "nosuch"
		}
		if p := m.portals[portal]; p != nil && p.sql == sqlFails {
			limit = 0 // PostgreSQL meets the failure only on the page where it is; a release is computed whole
		}
		return &pgproto3.Execute{Portal: portal, MaxRows: uint32(limit)},
			expect(func() []string { return m.execute(portal, limit) })
	case 'C':
		return &pgproto3.Close{ObjectType: object, Name: name}, expect(func() []string {
			if object == 'S' {
				delete(m.statements, name)
			} else {
				delete(m.portals, name)
			}
			return []string{"CloseComplete"}
		})
	case 'S':
		return &pgproto3.Sync{}, m.sync()
	case 'Q':
		return &pgproto3.Query{String: sql}, expect(func() []string { return m.query(sql) })
	}
	return &pgproto3.Flush{}, nil
}

// likely lists the messages that make sense now, the more often the more likely.
func (m *model) likely() string {
	switch {
	case m.skipping:
		return "SPE"
	case len(m.statements) == 0:
		return "PPPQ"
	case len(m.portals) == 0:
		return "BBBPDQS"
	}
	return "EEEEEEBBDDPCSQH"
}

// existing draws a name that exists, nine times out of ten: otherwise most conversations would be nothing but errors.
func existing[V any](t *rapid.T, label string, have map[string]V, names []string) string {
	if len(have) > 0 && rapid.IntRange(0, 9).Draw(t, label+" exists") < 9 {
		names = slices.Sorted(maps.Keys(have))
	}
	return rapid.SampledFrom(names).Draw(t, label)
}

// short cuts a rendered error or notice down to its code.
func short(line string) string {
	fields := strings.Fields(line)
	if fields[0] == "ErrorResponse" || fields[0] == "NoticeResponse" {
		return fields[0] + " " + fields[2]
	}
	return line
}

// converse sends one random conversation and compares every answer with the model's.
func converse(t *rapid.T, c *client) *model {
	m := newModel()
	var want []string
	for range rapid.IntRange(10, 80).Draw(t, "messages") {
		message, expected := m.draw(t)
		c.frontend.Send(message)
		want = append(want, expected...)
	}
	c.frontend.Send(&pgproto3.Sync{})
	want = append(want, m.sync()...)
	if err := c.frontend.Flush(); err != nil {
		t.Fatal(err)
	}
	for i, expected := range want {
		got := "NoticeResponse 01000"
		for got == "NoticeResponse 01000" { // PostgreSQL warns of a snapshot that it has left active in a failed transaction
			message, err := c.frontend.Receive()
			if err != nil {
				t.Fatalf("after %q: %v, want %s", want[:i], err, expected)
			}
			got = short(wiretest.Render(message))
		}
		if got != expected {
			t.Fatalf("after %q: got %s, want %s", want[:i], got, expected)
		}
	}
	return m
}

// TestExtendedProtocolAgainstModel compares the charges too.
func TestExtendedProtocolAgainstModel(t *testing.T) {
	server := startServer(t, nil)
	rapid.Check(t, func(rt *rapid.T) {
		server.engine.mu.Lock()
		server.engine.charged = nil
		server.engine.mu.Unlock()
		c := login(t, server.addr, "alice", "db", "secret")
		defer c.conn.Close()
		m := converse(rt, c)
		if got := server.engine.charges(); !slices.Equal(got, m.charged) {
			rt.Fatalf("charged %q, want %q", got, m.charged)
		}
	})
}

// TestModelAgainstPostgreSQL shows that the model is PostgreSQL's behaviour, not ours.
func TestModelAgainstPostgreSQL(t *testing.T) {
	connect := postgres(t)
	var c *client
	rapid.Check(t, func(rt *rapid.T) {
		if c == nil {
			c = connect()
		}
		mine := c
		c = nil
		defer func() {
			if c == nil { // it failed, with answers left unread
				mine.conn.Close()
			}
		}()
		converse(rt, mine)
		c = mine
		c.ask(t, "ROLLBACK")
		c.ask(t, "DISCARD ALL")
		c.send(t, &pgproto3.Close{ObjectType: 'S'}, &pgproto3.Sync{})
		c.until(t, "ReadyForQuery", 1)
	})
}
