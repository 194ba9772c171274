package console

import (
	"context"
	"crypto/tls"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/stores/saved"
	"github.com/dpproxy/dpproxy/internal/memory"
	"github.com/dpproxy/dpproxy/internal/metrics"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// Time-outs and bounds of a connection to a browser.
const (
	headerTimeout = 5 * time.Second
	readTimeout   = 15 * time.Second // for a whole request
	writeTimeout  = 30 * time.Second // for an answer, once it is there
	silence       = time.Minute      // between two requests
	lastWords     = 2 * time.Second  // for answers to leave when the proxy stops
	maxHeader     = 16 << 10
	maxConns      = 256
	maxPerHost    = 48 // of those, from one address
	maxLogins     = 4  // at the same time from one address: each derives a key from a password
)

// Config is what a console needs of the proxy around it. Its functions follow the policy that is in force.
type Config struct {
	// Dial opens a connection to the wire on behalf of a client, and says whether nobody can read what that sends.
	Dial func(ctx context.Context, client net.Addr, private bool) (net.Conn, error)
	// Databases are what analysts connect to: one at least, while the proxy does not stop.
	Databases func() []string
	// TLS is that of the wire; nil: the console speaks HTTP. Whether it does is settled by Secure.
	TLS    func() *tls.Config
	Secure bool
	// Names lists names of this server besides its addresses and those of its certificate.
	Names func() []string
	Proxy Proxy
	// Memory counts what clients make the process keep.
	Memory *memory.Budget
	// Saved keeps questions that analysts have given a name.
	Saved *saved.Store
	Log   *slog.Logger
}

// Proxy is the running proxy as its administrator may see it. Nothing of it depends on a private row, but for counts of
// failures.
type Proxy interface {
	Policy() *policy.Policy
	Accounts(ctx context.Context) ([]ledger.AccountSummary, error)
	Counts() (metrics.Counts, error)
	Compare(ctx context.Context) (problems, advice []string, err error)
	// Redeem takes a token of `dpproxy console` in, once.
	Redeem(ctx context.Context, token string) (bool, error)
}

// Console serves browsers.
type Console struct {
	config   Config
	secure   bool
	wire     *pgconn.Config
	sessions *sessions
	samples  *samples
	logins   *bound // of logins that are under way
	pages    map[string]*template.Template
	server   *http.Server
}

//go:embed templates/*.html
var templates embed.FS

// New makes a console that serves nothing yet.
func New(config Config) (*Console, error) {
	c := &Console{
		config: config, secure: config.Secure, sessions: newSessions(), samples: &samples{},
		logins: newBound(maxConns, maxLogins),
	}
	var err error
	if c.wire, err = wireTemplate(); err != nil {
		return nil, err
	}
	if c.pages, err = parsePages(); err != nil {
		return nil, err
	}
	c.server = &http.Server{
		Handler:           c.guard(c.counted(c.routes())),
		ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: silence,
		MaxHeaderBytes: maxHeader,
		ErrorLog:       slog.NewLogLogger(config.Log.Handler(), slog.LevelDebug),
		Protocols:      new(http.Protocols),
	}
	c.server.Protocols.SetHTTP1(true) // one request at a time on a connection, of which there are few
	if c.secure {
		c.server.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: c.handshake}
	}
	return c, nil
}

// handshake is the wire's TLS configuration as it is now. Browsers are not asked for certificates: analysts log in with
// passwords here.
func (c *Console) handshake(*tls.ClientHelloInfo) (*tls.Config, error) {
	config := c.config.TLS()
	if config == nil {
		return nil, errors.New("the policy has no certificate any more")
	}
	config = config.Clone()
	config.ClientAuth, config.ClientCAs, config.NextProtos = tls.NoClientCert, nil, []string{"http/1.1"}
	return config, nil
}

// Serve answers browsers until ctx ends, and ends every session then.
func (c *Console) Serve(ctx context.Context, l net.Listener) error {
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		last, cancel := context.WithTimeout(context.Background(), lastWords)
		defer cancel()
		_ = c.server.Shutdown(last) // answers that are there already leave; Close ends the rest
	})
	defer stop()
	sampled := make(chan struct{})
	go func() {
		defer close(sampled)
		c.sample(ctx)
	}()
	l = bounded{l, newBound(maxConns, maxPerHost)}
	var err error
	if c.secure {
		err = c.server.ServeTLS(l, "", "")
	} else {
		err = c.server.Serve(l)
	}
	if ctx.Err() != nil {
		<-stopped
		<-sampled
	}
	c.server.Close()
	c.sessions.sweep(true)
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("console: %w", err)
}

// sample counts, and ends expired sessions, every minute.
func (c *Console) sample(ctx context.Context) {
	ticks := time.NewTicker(time.Minute)
	defer ticks.Stop()
	for {
		if counts, err := c.config.Proxy.Counts(); err == nil {
			c.samples.add(time.Now(), counts)
		}
		c.sessions.sweep(false)
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
	}
}
