package wire_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// BenchmarkSimpleQuery is a round trip of the smallest statement: what the protocol costs over the loopback.
func BenchmarkSimpleQuery(b *testing.B) {
	server := startServer(b, nil)
	c := login(b, server.addr, "alice", "db", "secret")
	b.ReportAllocs()
	for b.Loop() {
		c.ask(b, "SELECT 1 AS one")
	}
}

// BenchmarkExtendedQuery binds and executes a prepared statement.
func BenchmarkExtendedQuery(b *testing.B) {
	server := startServer(b, nil)
	c := login(b, server.addr, "alice", "db", "secret")
	c.send(b, &pgproto3.Parse{Name: "s", Query: "SELECT $1::int4 AS v"}, &pgproto3.Sync{})
	c.until(b, "ReadyForQuery", 1)
	b.ReportAllocs()
	for b.Loop() {
		c.send(b, &pgproto3.Bind{PreparedStatement: "s", Parameters: [][]byte{[]byte("1")}}, &pgproto3.Execute{},
			&pgproto3.Sync{})
		c.until(b, "ReadyForQuery", 1)
	}
}

// BenchmarkRows sends 200,000 rows of one integer; the figure is bytes of DataRow messages.
func BenchmarkRows(b *testing.B) {
	server := startServer(b, nil)
	c := login(b, server.addr, "alice", "db", "secret")
	b.SetBytes(200000 * 17)
	for b.Loop() {
		c.send(b, &pgproto3.Query{String: "SELECT n FROM generate_series(1, 200000) AS n"})
		for {
			message, err := c.frontend.Receive()
			if err != nil {
				b.Fatal(err)
			}
			if _, done := message.(*pgproto3.ReadyForQuery); done {
				break
			}
		}
	}
}

// BenchmarkLogin is a whole connection with SCRAM; most of it is the client's key derivation.
func BenchmarkLogin(b *testing.B) {
	server := startServer(b, nil)
	for b.Loop() {
		c := login(b, server.addr, "alice", "db", "secret")
		c.conn.Close()
	}
}
