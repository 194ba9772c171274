package console

import (
	"net"
	"sync"
)

// bound counts what clients hold: all together, and each address.
type bound struct {
	most, perHost int

	mu    sync.Mutex
	total int
	hosts map[string]int
}

func newBound(most, perHost int) *bound {
	return &bound{most: most, perHost: perHost, hosts: map[string]int{}}
}

// take counts one more, unless that is too many. release, which may be called more than once, gives it back.
func (b *bound) take(host string) (release func(), ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.total >= b.most || b.hosts[host] >= b.perHost {
		return nil, false
	}
	b.total++
	b.hosts[host]++
	return sync.OnceFunc(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.total--
		if b.hosts[host]--; b.hosts[host] == 0 {
			delete(b.hosts, host)
		}
	}), true
}

// bounded is a listener that closes connections beyond a bound.
type bounded struct {
	net.Listener
	bound *bound
}

// Accept implements net.Listener.
func (b bounded) Accept() (net.Conn, error) {
	for {
		conn, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		host, _, err := net.SplitHostPort(conn.RemoteAddr().String())
		if err != nil {
			host = conn.RemoteAddr().String()
		}
		if release, ok := b.bound.take(host); ok {
			return held{conn, release}, nil
		}
		conn.Close()
	}
}

// held frees its slot when it is closed.
type held struct {
	net.Conn
	release func()
}

// Close implements net.Conn.
func (h held) Close() error {
	defer h.release()
	return h.Conn.Close()
}
