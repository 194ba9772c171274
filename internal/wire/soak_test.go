package wire_test

import (
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/dpproxy/dpproxy/internal/wire"
)

// TestSoak lets many clients come, ask, cancel, stop reading and disappear at random. The server must stay usable and
// keep nothing of them; goroutines are counted by TestMain.
func TestSoak(t *testing.T) {
	server := startServer(t, func(c *wire.Config) {
		c.Limits = wire.Limits{Connections: 200, PerAddress: 200}
		c.Timeouts.Write = time.Second
	})
	const clients, lives = 40, 4
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(i)))
			for range lives {
				soakLife(t, server.addr, r)
			}
		})
	}
	all.Wait()
	waitFor(t, "the end of all statements", func() bool { return server.engine.sleeping.Load() == 0 })
	login(t, server.addr, "alice", "db", "secret").works(t, "afterwards")
}

// soakLife is one connection, from its first byte to an end of its choice.
func soakLife(t *testing.T, addr string, r *rand.Rand) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(30 * time.Second))
	if r.IntN(8) == 0 { // gone in the middle of the startup phase
		conn.Write(alice[:r.IntN(20)])
		return
	}
	c := newClient(conn)
	if err := c.start("alice", "db", "secret"); err != nil {
		t.Error(err)
		return
	}
	for range r.IntN(10) {
		switch r.IntN(6) {
		case 0:
			c.frontend.Send(&pgproto3.Query{String: "SELECT n FROM generate_series(1, 200000) AS n"})
			c.frontend.Flush()
			return // without reading
		case 1:
			c.frontend.Send(&pgproto3.Query{String: "SELECT pg_sleep(60)"})
			c.frontend.Flush()
			if r.IntN(2) == 0 {
				return // a statement runs for nobody
			}
			c.cancelUntilAnswered(t)
		case 2:
			c.frontend.Send(&pgproto3.Parse{Query: "SELECT nosuch"})
			c.frontend.Send(&pgproto3.Sync{})
		case 3:
			c.frontend.Send(&pgproto3.Parse{Query: "SELECT n FROM generate_series(1, 5) AS n"})
			c.frontend.Send(&pgproto3.Bind{})
			c.frontend.Send(&pgproto3.Execute{MaxRows: 2})
			c.frontend.Send(&pgproto3.Sync{})
		case 4:
			conn.Write([]byte{'B', 0, 0, 0, 6, 0})
			return // inside a message
		default:
			c.frontend.Send(&pgproto3.Query{String: "SELECT 1 AS one"})
		}
		if err := c.frontend.Flush(); err != nil {
			t.Error(err)
			return
		}
		c.until(t, "ReadyForQuery", 1)
	}
}
