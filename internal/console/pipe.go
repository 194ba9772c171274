package console

import (
	"context"
	"net"
	"sync"

	"github.com/dpproxy/dpproxy/internal/wire"
)

// Pipe is a listener whose connections come from this process. The wire server accepts from it what Dial opens.
type Pipe struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

// NewPipe returns a pipe that nobody listens on yet.
func NewPipe() *Pipe { return &Pipe{conns: make(chan net.Conn), done: make(chan struct{})} }

// Accept implements net.Listener.
func (p *Pipe) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. Connections stay open.
func (p *Pipe) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

// Addr implements net.Listener.
func (p *Pipe) Addr() net.Addr { return wire.Inside{Addr: &net.TCPAddr{}} }

// Dial connects on behalf of a client, by whose address the server counts the connection. private says that the
// client's bytes came here behind TLS: what a network carries in the clear may not become a password that wire asks for
// in cleartext.
func (p *Pipe) Dial(ctx context.Context, client net.Addr, private bool) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.conns <- from{far, wire.Inside{Addr: client, Private: private}}:
		return near, nil
	case <-p.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// from is a connection that says from whom it comes.
type from struct {
	net.Conn
	client net.Addr
}

// RemoteAddr implements net.Conn.
func (f from) RemoteAddr() net.Addr { return f.client }
