package wire

import (
	"context"
	"crypto/x509"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/verifier"
)

// Credential holds what authentication needs to know of a user.
type Credential struct {
	Analyst  string // the policy's spelling
	Verifier string // SCRAM-SHA-256$iterations:salt$StoredKey:ServerKey, as PostgreSQL stores it
}

// Authenticator knows the analysts. It is asked anew for every connection, so that a policy can change. Implementations
// are safe for concurrent use.
type Authenticator interface {
	// Verifier returns the credential of the user named in the startup message; false: there is none (which takes as long,
	// and looks the same to the client, as a wrong password).
	Verifier(ctx context.Context, user string) (Credential, bool, error)
	// Shapes are those of the analysts' verifiers, which names without one are made to look like.
	Shapes() []verifier.Shape
	// Certificate maps a client certificate that TLS has verified to an analyst.
	Certificate(cert *x509.Certificate) (analyst string, ok bool)
	// Passwords reports whether clients without a mapped certificate may authenticate with a password.
	Passwords() bool
}

// authenticate finds out which analyst the client is. A certificate that maps to an analyst settles it, unless the
// client names another user and may prove to be that one by password. Errors are FATAL.
func (c *conn) authenticate(ctx context.Context, m startupMessage) (analyst string, err error) {
	auth := c.server.config.Authenticator
	mapped, ok := c.certificateAnalyst()
	if ok && (mapped == m.user || !auth.Passwords()) {
		return mapped, nil
	}
	if !auth.Passwords() {
		c.server.throttle.failed(m.user, c.host)
		c.server.config.Metrics.LoginFailed()
		return "", fatal(pgerr.InvalidAuthorization, "connection requires a valid client certificate of user %q", m.user)
	}
	if checker, ok := auth.(PasswordChecker); ok && checker.ChecksPasswords() {
		return c.cleartext(ctx, m.user, checker)
	}
	return c.scram(ctx, m.user)
}

func (c *conn) certificateAnalyst() (string, bool) {
	if c.tls == nil {
		return "", false
	}
	chains := c.tls.ConnectionState().VerifiedChains
	if len(chains) == 0 || len(chains[0]) == 0 {
		return "", false
	}
	return c.server.config.Authenticator.Certificate(chains[0][0])
}
