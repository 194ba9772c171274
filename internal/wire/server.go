package wire

import (
	"context"
	"errors"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/dpproxy/dpproxy/internal/memory"
)

// Server accepts PostgreSQL clients. It is safe for concurrent use.
type Server struct {
	config   Config
	throttle *throttle
	slots    *slots
	cancels  *cancels
	memory   *memory.Budget

	ctx      context.Context // ends when the server is closed
	cancel   context.CancelCauseFunc
	draining context.Context // ends when Shutdown begins
	drain    context.CancelFunc

	mu        sync.Mutex
	listeners map[net.Listener]struct{}
	stopped   bool
	conns     sync.WaitGroup
}

// ErrServerClosed is what Serve returns after Shutdown or Close.
var ErrServerClosed = errors.New("wire: server closed")

// New returns a server that serves nothing yet.
func New(config Config) (*Server, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{
		config: config, throttle: newThrottle(), slots: newSlots(config.Limits, config.Metrics.ConnectionRefused),
		cancels: newCancels(), memory: memory.New(config.Limits.Memory),
		listeners: map[net.Listener]struct{}{},
	}
	s.draining, s.drain = context.WithCancel(context.Background())
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	return s, nil
}

// Memory counts what clients make the process keep, of this server and of others that serve the same analysts.
func (s *Server) Memory() *memory.Budget { return s.memory }

// Serve accepts connections until the listener fails or the server stops; it closes the listener. It may be called for
// several listeners.
func (s *Server) Serve(l net.Listener) error {
	defer l.Close()
	if !s.track(l) {
		return ErrServerClosed
	}
	defer s.untrack(l)
	var pause time.Duration
	for {
		raw, err := l.Accept()
		if err != nil {
			if s.isStopped() {
				return ErrServerClosed
			}
			if !passing(err) {
				return err
			}
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			s.config.Logger.Warn("accept failed, trying again", "error", err, "pause", pause)
			select {
			case <-time.After(pause):
				continue
			case <-s.draining.Done():
				return ErrServerClosed
			}
		}
		pause = 0
		s.start(raw)
	}
}

// passing reports whether an error of Accept goes away by itself, such as too many open files, while the listener
// lives.
func passing(err error) bool {
	for _, errno := range []syscall.Errno{
		syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM,
		syscall.ECONNABORTED, syscall.EINTR,
	} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

func (s *Server) track(l net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return false
	}
	s.listeners[l] = struct{}{}
	return true
}

func (s *Server) untrack(l net.Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.listeners, l)
}

func (s *Server) isStopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopped
}

// start serves one connection in its own goroutine.
func (s *Server) start(raw net.Conn) {
	host := hostOf(raw.RemoteAddr())
	s.mu.Lock()
	if s.stopped {
		s.mu.Unlock()
		raw.Close()
		return
	}
	s.conns.Add(1)
	s.mu.Unlock()
	c := newConn(s, raw, host)
	if evicted := s.slots.enter(c); evicted != nil {
		evicted.cancel(net.ErrClosed)
		evicted.raw.Close()
	}
	go func() {
		defer s.conns.Done()
		defer s.slots.leave(c)
		s.config.Metrics.ConnectionOpened()
		defer s.config.Metrics.ConnectionClosed()
		c.serve()
	}()
}

// Shutdown stops accepting, ends idle sessions with 57P01, and waits for the others until ctx is done; then it closes
// them too and returns ctx's error.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stop()
	done := make(chan struct{})
	go func() {
		s.conns.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		s.cancel(errShutdown)
		<-done
		return context.Cause(ctx)
	}
}

// Close ends every connection now and waits until their goroutines have returned.
func (s *Server) Close() error {
	s.stop()
	s.cancel(errShutdown)
	s.conns.Wait()
	return nil
}

func (s *Server) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return
	}
	s.stopped = true
	for l := range s.listeners {
		l.Close()
	}
	s.drain()
}

// hostOf returns the part of an address that limits count by: the IPv4 address, the IPv6 network of 64 bits (whoever
// has one of its addresses has them all), or one name for all Unix sockets.
func hostOf(addr net.Addr) string {
	if inside, ok := addr.(Inside); ok {
		addr = inside.Addr
	}
	t, ok := addr.(*net.TCPAddr)
	switch {
	case !ok:
		return addr.Network()
	case t.IP.To4() != nil || t.IP.IsLoopback():
		return t.IP.String()
	}
	return t.IP.Mask(net.CIDRMask(64, 128)).String()
}

// networkOf is the network that a host of hostOf is in, as one customer has it: 24 bits of an IPv4 address, 48 of an
// IPv6 one.
func networkOf(host string) string {
	ip := net.ParseIP(host)
	switch {
	case ip == nil:
		return host
	case ip.To4() != nil:
		return ip.Mask(net.CIDRMask(24, 32)).String()
	}
	return ip.Mask(net.CIDRMask(48, 128)).String()
}

// Inside is the address of a client whose bytes a listener of another protocol brings, in this process. Limits and
// throttle count it as that client. TLS is that listener's business. No connection of a network has such an address.
type Inside struct {
	net.Addr
	Private bool // what the client sends to that listener is behind TLS
}
