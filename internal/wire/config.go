package wire

import (
	"crypto/rand"
	"crypto/tls"
	"errors"
	"log/slog"
	"time"

	"github.com/dpproxy/dpproxy/internal/memory"
)

// Config says how a Server treats its clients. Zero values take the defaults below.
type Config struct {
	Handler       Handler
	Authenticator Authenticator

	// TLS returns the configuration for one handshake, so that certificates can change while the server runs; nil, or a
	// nil result: TLS is refused. The server adds ALPN and raises MinVersion to TLS 1.2.
	TLS func() *tls.Config
	// RequireTLS refuses clients that come without TLS, except over loopback and Unix sockets.
	RequireTLS bool

	Limits   Limits
	Timeouts Timeouts

	// MockSecret makes the salts of users that do not exist look the same after a restart, as real ones do. Derive it
	// from something secret that stays; nil: random.
	MockSecret []byte

	Logger  *slog.Logger
	Metrics Metrics
}

// Limits bound what clients can take. They hold before authentication.
type Limits struct {
	Connections int // all clients together
	PerAddress  int // one IP address
	// Message is the largest message after authentication, in bytes; a larger one is an error that leaves the session
	// usable.
	Message int
	// Pipeline is how many bytes of messages are read ahead of the statement that runs, per connection.
	Pipeline int
	// Memory is what clients make the server keep together, in bytes.
	Memory int64
}

// Timeouts in which a peer must move.
type Timeouts struct {
	Startup time.Duration // from accept to ReadyForQuery
	Write   time.Duration // a client that reads nothing for so long is disconnected
}

// Defaults of Limits and Timeouts.
const (
	DefaultConnections = 500
	DefaultPerAddress  = 100
	DefaultMessage     = 1 << 20
	DefaultPipeline    = 4 << 20
	DefaultStartup     = 15 * time.Second
	DefaultWrite       = 60 * time.Second
)

func (c Config) withDefaults() (Config, error) {
	if c.Handler == nil || c.Authenticator == nil {
		return c, errors.New("wire: Config needs Handler and Authenticator")
	}
	for _, d := range []struct {
		value *int
		def   int
	}{
		{&c.Limits.Connections, DefaultConnections},
		{&c.Limits.PerAddress, DefaultPerAddress},
		{&c.Limits.Message, DefaultMessage},
		{&c.Limits.Pipeline, DefaultPipeline},
	} {
		if *d.value <= 0 {
			*d.value = d.def
		}
	}
	if c.Limits.Memory <= 0 {
		c.Limits.Memory = memory.Default
	}
	if c.Timeouts.Startup <= 0 {
		c.Timeouts.Startup = DefaultStartup
	}
	if c.Timeouts.Write <= 0 {
		c.Timeouts.Write = DefaultWrite
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Metrics == nil {
		c.Metrics = noMetrics{}
	}
	if c.MockSecret == nil {
		c.MockSecret = make([]byte, 32)
		if _, err := rand.Read(c.MockSecret); err != nil {
			return c, err
		}
	}
	return c, nil
}
