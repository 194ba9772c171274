package wire

import (
	"bytes"
	"context"

	"github.com/jackc/pgproto3/v2"

	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// PasswordChecker is implemented by an Authenticator that may have passwords proved elsewhere, by a directory that
// wants to see them.
type PasswordChecker interface {
	// ChecksPasswords reports whether that is how clients without a mapped certificate authenticate now, in the place of
	// SCRAM.
	ChecksPasswords() bool
	// CheckPassword returns the analyst that a user is who knows the password; false: they are none, or it is wrong, which
	// looks the same.
	CheckPassword(ctx context.Context, user, password string) (analyst string, ok bool, err error)
}

// inside reports whether the connection is one of this process, for a browser. It takes the slot of a session while it
// has something to do.
func (c *conn) inside() bool {
	_, inside := c.raw.RemoteAddr().(Inside)
	return inside
}

// private reports whether nobody between the client and this process can read what it sends.
func (c *conn) private() bool {
	inside, ok := c.raw.RemoteAddr().(Inside)
	return c.tls != nil || ok && inside.Private
}

// cleartext asks for the password itself. Only a client behind TLS is asked: nobody else may read it.
func (c *conn) cleartext(ctx context.Context, user string, checker PasswordChecker) (analyst string, err error) {
	if !c.private() {
		e := fatal(pgerr.InvalidAuthorization, "this server takes passwords over TLS only")
		e.Hint = "Connect with sslmode=verify-full, or at least sslmode=require."
		return "", e
	}
	if err := c.sendNow(&pgproto3.AuthenticationCleartextPassword{}); err != nil {
		return "", err
	}
	body, err := c.readPassword()
	if err != nil {
		return "", err
	}
	password, rest, ended := bytes.Cut(body, []byte{0})
	if !ended || len(rest) > 0 {
		return "", fatal(pgerr.ProtocolViolation, "invalid password packet size")
	}
	// The wait comes first: it bounds how often the directory is asked, too.
	if err := c.server.throttle.wait(ctx, user, c.host); err != nil {
		return "", err
	}
	ok := false
	if len(password) > 0 { // an LDAP bind without a password succeeds as nobody (RFC 4513, 5.1.2)
		if analyst, ok, err = checker.CheckPassword(ctx, user, string(password)); err != nil {
			return "", err
		}
	}
	if !ok || analyst == "" {
		c.server.throttle.failed(user, c.host)
		c.server.config.Metrics.LoginFailed()
		c.log.Info("password authentication failed", "user", user)
		return "", fatal(pgerr.InvalidPassword, "password authentication failed for user %q", user)
	}
	c.server.throttle.succeeded(user, c.host)
	return analyst, nil
}
