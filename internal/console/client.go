package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"

	"github.com/dpproxy/dpproxy/internal/memory"
	"github.com/dpproxy/dpproxy/internal/pgerr"
)

const (
	connectTimeout = 20 * time.Second // a throttled login takes up to 5 s
	cancelTimeout  = 15 * time.Second // for a cancelled statement to end, before its connection is given up

	// What a page keeps of an answer. The rest is read and dropped: asked again, the same question costs nothing while its
	// answer is kept.
	maxRows  = 10_000
	maxBytes = 4 << 20 // with cellBytes for each value
	// cellBytes is what a value takes besides its text.
	cellBytes = 40
)

// client is an analyst's connection to the wire. Its methods wait for each other.
type client struct {
	conn    *pgconn.PgConn
	turn    chan struct{} // holds one element: whoever took it may use conn
	notices []*pgconn.Notice
	lost    atomic.Bool
	open    func() *memory.Account // of the analyst, for an answer
	spare   func()                 // drops answers that are kept, when there is no room for another
}

// wireTemplate is what every connection has in common. Nothing of the environment has a part in it. The password itself
// goes to the wire alone, in this process, where a directory proves it.
func wireTemplate() (*pgconn.Config, error) {
	config, err := pgconn.ParseConfig("host=console port=1 user=console dbname=console password=none sslmode=disable " +
		"require_auth=scram-sha-256,password channel_binding=disable target_session_attrs=any")
	if err != nil {
		return nil, err
	}
	config.RuntimeParams = map[string]string{"application_name": "dpproxy console", "client_encoding": "UTF8"}
	config.Fallbacks, config.ValidateConnect = nil, nil
	config.ConnectTimeout = connectTimeout
	config.LookupFunc = func(context.Context, string) ([]string, error) { return []string{"console"}, nil }
	return config, nil
}

// connect logs in. A *pgconn.PgError is what the wire says to any client. The password is not kept.
func connect(ctx context.Context, config *pgconn.Config, dial func(context.Context) (net.Conn, error), user, password,
	database string,
) (*client, error) {
	c := &client{turn: make(chan struct{}, 1)}
	config = config.Copy()
	config.User, config.Password, config.Database = user, password, database
	config.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { c.notices = append(c.notices, n) }
	config.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: cancelTimeout}
	}
	var err error
	c.conn, err = pgconn.ConnectConfig(ctx, config)
	config.Password = "" // the connection keeps its configuration
	if err != nil {
		return nil, err
	}
	c.turn <- struct{}{}
	return c, nil
}

// close ends the session of the wire, without waiting for a statement that runs: the wire stops it.
func (c *client) close() { _ = c.conn.Conn().Close() }

// answer is what one statement gave.
type answer struct {
	Columns []column
	Rows    [][]cell
	Beyond  int // rows that were not kept
	Notices []*pgconn.Notice
	Name    string // of the statement; empty: its question has no other
	SQL     string
	Price   price
	Figures []figureOf      // what dpproxy.last says of it; none: nothing private was read
	memory  *memory.Account // counts the answer, until it is freed
	holders atomic.Int32
}

type column struct {
	Name string
	OID  uint32
}

type cell struct {
	Text string
	Null bool
}

// price is what the analyst offers for a statement: an ε, or the margin that they want; neither: the policy's ε.
// Workload has the statements that are asked together with it, Sets the settings that the analyst has written before
// it.
type price struct {
	Epsilon, Margin, Workload string
	Sets                      []string
}

// errNoRows refuses, before anything is charged, statements that a page has no use for: SET, COPY, BEGIN.
var errNoRows = pgerr.New(pgerr.FeatureNotSupported, "this statement returns no rows, and was not run",
	pgerr.Hint("Ask a SELECT; a SET stands before the one that it is for. Connect with psql for everything else."))

// room is what is left of what a page keeps of the answers to a question.
type room struct{ rows, bytes int }

// allRoom is that of a question before its first answer.
func allRoom() *room { return &room{maxRows, maxBytes} }

// ask runs one statement at a price. It leaves nothing behind in the session: whatever was asked before, the same text
// means the same.
func (c *client) ask(ctx context.Context, p price, sql string, parameters ...string) (*answer, error) {
	if err := c.begin(ctx); err != nil {
		return nil, err
	}
	defer c.end()
	return c.one(ctx, p, sql, allRoom(), parameters...)
}

// question is ask, and how far what was released may be off. The answer is kept as far as there is room.
func (c *client) question(ctx context.Context, p price, sql string, left *room, parameters ...string) (*answer, error) {
	if err := c.begin(ctx); err != nil {
		return nil, err
	}
	defer c.end()
	a, err := c.one(ctx, p, sql, left, parameters...)
	if err != nil || a.notice() == nil {
		return a, err
	}
	last, err := c.one(ctx, price{}, lastSQL, allRoom())
	if err != nil {
		a.release()
		return nil, err
	}
	defer last.release()
	a.Figures = last.figures()
	return a, nil
}

// begin waits for the turn of whoever calls.
func (c *client) begin(ctx context.Context) error {
	select {
	case <-c.turn:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (c *client) end() {
	c.lost.Store(c.conn.IsClosed())
	c.turn <- struct{}{}
}

// one runs one statement, for who has the turn.
func (c *client) one(ctx context.Context, p price, sql string, left *room, parameters ...string) (*answer, error) {
	if err := c.settle(ctx, p); err != nil {
		return nil, err
	}
	// One statement alone can be prepared: what the dry run shows is what runs.
	prepared, err := c.conn.Prepare(ctx, "", sql, nil)
	switch {
	case err != nil:
		return nil, err
	case len(prepared.Fields) == 0:
		return nil, errNoRows
	case len(prepared.ParamOIDs) != len(parameters):
		return nil, pgerr.New(pgerr.FeatureNotSupported, "there is no value for $1",
			pgerr.Hint("Write a name, :ward: it gets a field below the editor."))
	}
	values := make([][]byte, len(parameters))
	for i, v := range parameters {
		values[i] = []byte(v)
	}
	a := (&answer{SQL: sql, Price: p, memory: c.open()}).hold()
	if err := c.run(ctx, a, prepared, values, left); err != nil {
		a.release()
		return nil, err
	}
	return a, nil
}

// run executes the statement of an answer.
func (c *client) run(ctx context.Context, a *answer, prepared *pgconn.StatementDescription, values [][]byte,
	left *room,
) error {
	if err := c.grow(a, answerBytes+len(a.SQL)+len(a.Price.Workload)); err != nil {
		return err
	}
	for _, f := range prepared.Fields {
		a.Columns = append(a.Columns, column{f.Name, f.DataTypeOID})
	}
	if err := c.read(a, c.conn.ExecPrepared(ctx, "", values, nil, nil), left); err != nil {
		return err
	}
	a.Notices, c.notices = c.notices, nil
	return nil
}

// grow counts n bytes more of an answer. Those that the session keeps make room for it.
func (c *client) grow(a *answer, n int) error {
	hold := a.memory.Hold() // the account ends with the answer
	err := hold.Grow(n)
	if err != nil {
		c.spare()
		err = hold.Grow(n)
	}
	return err
}

// settle sets the settings of one statement in the session, and forgets those of the one before.
func (c *client) settle(ctx context.Context, p price) error {
	if _, err := c.conn.Exec(ctx, "RESET ALL").ReadAll(); err != nil {
		return err
	}
	for name, value := range map[string]string{
		"dpproxy.epsilon": p.Epsilon, "dpproxy.margin": p.Margin,
		"dpproxy.intervals": "on", "dpproxy.workload": p.Workload,
	} {
		if value == "" {
			continue
		}
		set := c.conn.ExecParams(ctx, "SELECT set_config($1, $2, false)", [][]byte{[]byte(name), []byte(value)}, nil, nil,
			nil)
		if _, err := set.Close(); err != nil {
			return err
		}
	}
	for _, sql := range p.Sets {
		if _, err := c.conn.ExecParams(ctx, sql, nil, nil, nil, nil).Close(); err != nil {
			return withoutPosition(err)
		}
	}
	if len(p.Sets) > 0 { // the page is UTF-8, whatever the analyst has set
		if _, err := c.conn.Exec(ctx, "SET client_encoding = 'UTF8'").ReadAll(); err != nil {
			return err
		}
	}
	c.notices = nil
	return nil
}

// withoutPosition is an error of a text that stands elsewhere.
func withoutPosition(err error) error {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return err
	}
	placeless := *e
	placeless.Position = 0
	return &placeless
}

// types are those of the parameters of a statement.
func (c *client) types(ctx context.Context, p price, sql string) ([]uint32, error) {
	if err := c.begin(ctx); err != nil {
		return nil, err
	}
	defer c.end()
	if err := c.settle(ctx, p); err != nil {
		return nil, err
	}
	prepared, err := c.conn.Prepare(ctx, "", sql, nil)
	if err != nil {
		return nil, err
	}
	return prepared.ParamOIDs, nil
}

// read takes the rows over.
func (c *client) read(a *answer, r *pgconn.ResultReader, left *room) error {
	var full error
	for r.NextRow() {
		size := cellBytes
		for _, v := range r.Values() {
			size += len(v) + cellBytes
		}
		left.bytes -= size
		if full != nil || left.rows == 0 || left.bytes < 0 {
			a.Beyond++
			continue
		}
		if full = c.grow(a, size); full != nil {
			continue
		}
		row := make([]cell, len(r.Values()))
		for i, v := range r.Values() {
			row[i] = cell{string(v), v == nil}
		}
		a.Rows = append(a.Rows, row)
		left.rows--
	}
	_, err := r.Close()
	return cmp.Or(err, full)
}

// text is a value by row and column, empty where it is NULL.
func (a *answer) text(row int, name string) string {
	for i, c := range a.Columns {
		if c.Name == name {
			return a.Rows[row][i].Text
		}
	}
	return ""
}

// refusal is an error as a page shows it.
type refusal struct {
	Code, Message, Detail, Hint, Help, Near string
	Position                                int // in characters of the text, from 1; 0: of no place
}

// near quotes the text from a position on, which counts characters from 1, up to the end of its line.
func near(sql string, position int) string {
	runes := []rune(sql)
	if position > len(runes) {
		return ""
	}
	line, _, _ := strings.Cut(string(runes[position-1:]), "\n")
	if short := []rune(line); len(short) > 40 {
		line = string(short[:40]) + "…"
	}
	return fmt.Sprintf("near “%s”", line)
}
