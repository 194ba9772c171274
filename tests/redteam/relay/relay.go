// Package relay records what a client really asks of a PostgreSQL server: a TCP proxy that passes every byte on and
// reads the client's messages on their way.
package relay

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// Query is one statement that the server ran. Text that was only parsed or described is none.
type Query struct {
	Conn    int // which connection, counted from 1
	SQL     string
	Types   []uint32 // of the parameters, as the client gave them
	Formats []int16  // of the parameters: 0 text, 1 binary
	Values  [][]byte // nil is NULL
}

// Relay is a running proxy.
type Relay struct {
	listener net.Listener
	server   string // host:port
	mu       sync.Mutex
	queries  []Query
	broken   error
	conns    int
	running  sync.WaitGroup
	open     map[net.Conn]bool
}

// Start listens on a free port of this machine and passes on to server, a host:port.
func Start(server string) (*Relay, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &Relay{listener: l, server: server, open: map[net.Conn]bool{}}
	r.running.Go(r.accept)
	return r, nil
}

// Addr is the address to connect to.
func (r *Relay) Addr() string { return r.listener.Addr().String() }

// Take returns what was executed since the last call, on all connections, in order. An error says that a message could
// not be read: then what was recorded proves nothing.
func (r *Relay) Take() ([]Query, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	queries := r.queries
	r.queries = nil
	return queries, r.broken
}

// Close ends the relay and all its connections.
func (r *Relay) Close() {
	_ = r.listener.Close()
	r.mu.Lock()
	for c := range r.open {
		_ = c.Close()
	}
	r.mu.Unlock()
	r.running.Wait()
}

func (r *Relay) accept() {
	for {
		client, err := r.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", r.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		r.mu.Lock()
		r.open[client], r.open[server] = true, true
		r.conns++
		conn := r.conns
		r.mu.Unlock()
		r.running.Go(func() { r.forward(conn, client, server) })
		r.running.Go(func() { _, _ = io.Copy(client, server); r.hangUp(client, server) })
	}
}

func (r *Relay) hangUp(conns ...net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
		delete(r.open, c)
	}
}

// forward passes the client's messages on. What a message says is recorded before the server gets it, so that nothing
// is missing once the server has answered.
func (r *Relay) forward(conn int, client, server net.Conn) {
	defer r.hangUp(client, server)
	if err := startup(client, server); err != nil {
		return
	}
	d := decoder{statements: map[string]prepared{}, portals: map[string]Query{}}
	for {
		message, err := read(client, 1)
		if err != nil {
			return
		}
		query, err := d.message(message[0], message[5:])
		r.mu.Lock()
		if query != nil {
			query.Conn = conn
			r.queries = append(r.queries, *query)
		}
		r.broken = errors.Join(r.broken, err)
		r.mu.Unlock()
		if _, err := server.Write(message); err != nil {
			return
		}
	}
}

// startup passes on the messages without a type: requests for encryption, which the server refuses, and then the start.
func startup(client, server net.Conn) error {
	const protocol3 = 3 << 16
	for {
		message, err := read(client, 0)
		if err != nil {
			return err
		}
		if _, err := server.Write(message); err != nil {
			return err
		}
		if len(message) >= 8 && binary.BigEndian.Uint32(message[4:]) == protocol3 {
			return nil
		}
	}
}

// maxMessage is far above what dpproxy sends.
const maxMessage = 64 << 20

// read reads a message with its head: a type of so many bytes, and the length of itself and the body.
func read(from io.Reader, kind int) ([]byte, error) {
	head := make([]byte, kind+4)
	if _, err := io.ReadFull(from, head); err != nil {
		return nil, err
	}
	length := int(binary.BigEndian.Uint32(head[kind:]))
	if length < 4 || length > maxMessage {
		return nil, fmt.Errorf("a message of %d bytes", length)
	}
	message := append(head, make([]byte, length-4)...)
	_, err := io.ReadFull(from, message[kind+4:])
	return message, err
}
