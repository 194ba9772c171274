package backend

import (
	"cmp"
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// guarded is one statement of a client's on a pooled connection, in a READ ONLY transaction of its own: pins that the
// connection does not have, BEGIN, a savepoint, the statement, the end of both, Sync. All of it is one write, and the
// messages that answer it are read one by one.
//
// A setting that a function of the statement changes for the session is undone with the savepoint: what a connection is
// remembered to have, it has. To end with ROLLBACK would do the same, and fill a database's statistics with what looks
// like failures.
//
// It is not pgconn's Pipeline, which guards against a server that answers before it has read everything. Here the
// server has read the statement when it answers it, and what follows is short.
type guarded struct {
	conn   *pgxpool.Conn
	pg     *pgconn.PgConn
	known  *pinned
	before int       // so many commands are to complete before the statement
	syncs  int       // so many answers to Sync are to come
	tags   [2]string // of the last commands, where they are those around the statement
	err    error     // the first that was reported
}

// The commands around a statement. A connection that is its server's own has them prepared: parsing them anew takes a
// sixth of what a server does for a short statement. Their tags are checked, as a function of the statement could
// prepare others by the same names.
var (
	beginTags, endTags = [2]string{"BEGIN", "SAVEPOINT"}, [2]string{"ROLLBACK", "COMMIT"}

	guardCommands = []struct{ name, sql string }{
		{"dpproxy_begin", beginRead},
		{"dpproxy_savepoint", "SAVEPOINT guard"},
		{"dpproxy_rollback", "ROLLBACK TO guard"},
		{guardCommit, "COMMIT"},
		{guardMeasure, beginMeasure},
	}
	preparedBegin, preparedEnd = prepared(guardCommands[0].name, guardCommands[1].name),
		prepared(guardCommands[2].name, guardCommands[3].name)
	syncMessage = encoded(&pgproto3.Sync{})
)

const guardCommit, guardMeasure = "dpproxy_commit", "dpproxy_measure"

// prepareGuard prepares the commands around statements.
func prepareGuard(ctx context.Context, pg *pgconn.PgConn) error {
	pipeline := pg.StartPipeline(ctx)
	for _, c := range guardCommands {
		pipeline.SendPrepare(c.name, c.sql, nil)
	}
	return cmp.Or(pipeline.Sync(), pipeline.Close())
}

// prepared encodes prepared commands whose answers nobody needs to have described.
func prepared(names ...string) (out []byte) {
	for _, name := range names {
		out = append(out, encoded(&pgproto3.Bind{PreparedStatement: name}, &pgproto3.Execute{})...)
	}
	return out
}

// commands encodes commands whose answers nobody needs to have described.
func commands(list ...string) (out []byte) {
	for _, sql := range list {
		out = append(out, encoded(&pgproto3.Parse{Query: sql}, &pgproto3.Bind{}, &pgproto3.Execute{})...)
	}
	return out
}

// encoded encodes messages that are short.
func encoded(messages ...pgproto3.FrontendMessage) []byte {
	out, err := appendMessages(nil, messages)
	if err != nil {
		panic(err)
	}
	return out
}

func appendMessages(out []byte, messages []pgproto3.FrontendMessage) (_ []byte, err error) {
	for _, m := range messages {
		if out, err = m.Encode(out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// keptBuffer is the longest buffer for messages that a connection keeps, bytes.
const keptBuffer = 64 << 10

// guard sends a client's statement, and reads the answers to what is before it. The caller reads the statement's, and
// ends it.
func guard(ctx context.Context, conn *pgxpool.Conn, pins *pinSet, statement ...pgproto3.FrontendMessage) (
	*guarded, error,
) {
	g := &guarded{conn: conn, pg: conn.Conn().PgConn(), known: pinnedOf(conn.Conn())}
	if ctx.Err() != nil {
		conn.Release()
		return nil, context.Cause(ctx)
	}
	out, err := g.encode(pins, statement)
	if err != nil {
		conn.Release()
		return nil, err
	}
	g.known.watcher.Watch(ctx)
	if _, err := g.pg.Conn().Write(out); err != nil {
		g.broken(err)
	}
	for g.err == nil && g.before > 0 {
		if message := g.receive(); isA[*pgproto3.CommandComplete](message) {
			g.before--
		}
	}
	if !g.known.local() {
		g.checkBegin()
	}
	if g.err != nil {
		return nil, g.end()
	}
	g.known.pins = pins
	return g, nil
}

// checkBegin gives up a connection on which BEGIN and SAVEPOINT are not what they were.
func (g *guarded) checkBegin() {
	ofPins := g.before > len(beginTags)
	switch {
	case g.err == nil && g.tags == beginTags, g.err != nil && (ofPins || connectionLost(g.err)):
	default:
		g.err = nil
		g.broken(errGuard)
	}
}

// encode makes all of the transaction.
func (g *guarded) encode(pins *pinSet, statement []pgproto3.FrontendMessage) ([]byte, error) {
	out, end := g.known.buffer[:0], preparedEnd
	for _, name := range g.known.drops() {
		out = append(out, encoded(&pgproto3.Close{ObjectType: 'S', Name: name})...)
	}
	g.before, g.syncs = 2, 1
	switch {
	case g.known.local(): // the transaction has pins of its own
		out = append(out, commands(beginRead)...)
		if list := propagated(pins.list); g.known.citus {
			out = append(out, commands(list...)...)
			g.before += len(list)
		} else {
			out = append(out, pinMessages(pins.list, true)...)
			g.before++
		}
		out = append(out, commands("SAVEPOINT guard")...)
		end = commands("ROLLBACK TO guard", "COMMIT")
	case g.known.pins == pins:
		out = append(out, preparedBegin...)
	default: // with a Sync, or BEGIN would take the pins into its transaction
		out = append(out, pins.session...)
		out = append(out, syncMessage...)
		out = append(out, preparedBegin...)
		g.before, g.syncs = 3, 2
		g.known.pins = nil // until the answer is known
	}
	out, err := appendMessages(out, statement)
	if err != nil {
		return nil, err
	}
	out = append(append(out, end...), syncMessage...)
	if g.known.buffer = nil; cap(out) <= keptBuffer {
		g.known.buffer = out
	}
	return out, nil
}

func isA[M pgproto3.BackendMessage](message pgproto3.BackendMessage) bool {
	_, is := message.(M)
	return is
}

// receive returns the next message, valid until the following call; nil: the server reported an error, or the
// connection is lost.
func (g *guarded) receive() pgproto3.BackendMessage {
	if g.syncs == 0 {
		g.fail(errProtocol) // or it would wait for ever
		return nil
	}
	message, err := g.pg.ReceiveMessage(context.Background()) // the watcher knows the statement's
	if err != nil {
		g.broken(err)
		return nil
	}
	switch m := message.(type) {
	case *pgproto3.ErrorResponse:
		g.fail(pgconn.ErrorResponseToPgError(m))
		return nil
	case *pgproto3.CommandComplete:
		g.tags[0], g.tags[1] = g.tags[1], guardTag(m.CommandTag)
	case *pgproto3.ReadyForQuery:
		g.syncs--
	}
	return message
}

// guardTag is a tag, where it is one of the commands around a statement.
func guardTag(tag []byte) string {
	for _, known := range []string{beginTags[0], beginTags[1], endTags[0], endTags[1]} {
		if string(tag) == known {
			return known
		}
	}
	return ""
}

// errGuard is a connection on which the commands around statements are not what was prepared.
var errGuard = errors.New("a function of the database has changed the prepared statements of its connection")

// fail keeps the first error: it is the one that explains.
func (g *guarded) fail(err error) {
	if g.err == nil {
		g.err = err
	}
}

// broken gives the connection up.
func (g *guarded) broken(err error) {
	g.fail(err)
	g.syncs = 0
	discard(g.pg)
}

// drain reads what is left.
func (g *guarded) drain() {
	for g.syncs > 0 {
		g.receive()
	}
}

// end reads what is left, and gives the connection back. It returns the first error of all.
func (g *guarded) end() error {
	g.drain()
	var refused *pgconn.PgError
	switch {
	case g.err == nil && g.tags != endTags:
		g.broken(errGuard)
	case errors.As(g.err, &refused) && refused.Code == pgerr.InvalidStatementName: // one of those is gone
		discard(g.pg)
	}
	g.known.watcher.Unwatch()
	giveBack(g.conn)
	return g.err
}

// giveBack makes sure that no transaction stays open, and gives the connection back. One in doubt is closed.
func giveBack(conn *pgxpool.Conn) {
	pg := conn.Conn().PgConn()
	if !pg.IsClosed() && pg.TxStatus() != 'I' {
		// The statement failed or was stopped before COMMIT. The caller's context may be done, so it has no say here.
		ctx, cancel := context.WithTimeout(context.Background(), cancelGrace)
		if _, err := pg.Exec(ctx, "ROLLBACK").ReadAll(); err != nil {
			discard(pg)
		}
		cancel()
	}
	conn.Release()
}

// discard closes a connection. Nothing is lost with it, and the pool makes a new one.
func discard(pg *pgconn.PgConn) {
	ctx, cancel := context.WithTimeout(context.Background(), cancelGrace)
	defer cancel()
	_ = pg.Close(ctx)
}
