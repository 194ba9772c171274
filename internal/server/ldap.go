package server

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/go-ldap/ldap/v3"
	"golang.org/x/sync/semaphore"

	"github.com/dpproxy/dpproxy/internal/policy"
)

// directory proves passwords by a simple bind to an LDAP server (RFC 4513, 5.1.3), each over a connection of its own.
// At most authConnections are open at a time.
type directory struct {
	policy.LDAP
	tls  *tls.Config
	open *semaphore.Weighted
}

func newDirectory(l policy.LDAP) (*directory, error) {
	d := &directory{LDAP: l, tls: &tls.Config{MinVersion: tls.VersionTLS12}, open: semaphore.NewWeighted(authConnections)}
	var err error
	d.tls.RootCAs, err = authorities("auth.ca", l.CA)
	return d, err
}

// dn is a user's name in the directory. What has a meaning in a name is escaped, so that nobody can write a part of it.
func (d *directory) dn(user string) string {
	return strings.Replace(d.DN, "%s", ldap.EscapeDN(user), 1)
}

// bind reports whether the directory takes the password. An error means that it gave no verdict.
func (d *directory) bind(ctx context.Context, user, password string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, authTimeout)
	defer cancel()
	if err := d.open.Acquire(ctx, 1); err != nil {
		return false, fmt.Errorf("auth.url: %w", err)
	}
	defer d.open.Release(1)
	conn, err := ldap.DialURL(d.URL, ldap.DialWithTLSConfig(d.tls), ldap.DialWithDialer(&net.Dialer{Timeout: authTimeout}))
	if err != nil {
		return false, fmt.Errorf("auth.url: %w", err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if deadline, ok := ctx.Deadline(); ok {
		conn.SetTimeout(time.Until(deadline))
	}
	err = conn.Bind(d.dn(user), password) // refuses an empty one itself, too
	var verdict *ldap.Error
	switch {
	case err == nil:
		return true, nil
	case errors.As(err, &verdict) && verdict.ResultCode < ldap.ErrorNetwork && verdict.ResultCode != ldap.LDAPResultBusy &&
		verdict.ResultCode != ldap.LDAPResultUnavailable:
		return false, nil
	}
	return false, fmt.Errorf("auth.url: %w", err)
}

// ChecksPasswords implements wire.PasswordChecker.
func (a *authenticator) ChecksPasswords() bool {
	i, err := a.identity()
	return err == nil && i.directory != nil
}

// CheckPassword implements wire.PasswordChecker.
func (a *authenticator) CheckPassword(ctx context.Context, user, password string) (string, bool, error) {
	i, err := a.identity()
	if err != nil {
		return "", false, err
	}
	return i.checkPassword(ctx, user, password)
}

// checkPassword has the directory prove the password of an analyst whom the policy lists, in the policy's spelling: a
// directory takes many for one name. For others it binds as somebody who does not exist. That takes about as long,
// tells nobody whether a password of the directory is right, and locks nobody's account there.
func (i *identity) checkPassword(ctx context.Context, user, password string) (string, bool, error) {
	if i.directory == nil { // since the client was asked
		return "", false, nil
	}
	analyst, listed := i.policy.Analysts[user]
	if !listed {
		user, password = rand.Text(), rand.Text()
	}
	ok, err := i.directory.bind(ctx, user, password)
	if err != nil || !ok || !listed {
		return "", false, err
	}
	return analyst.Name, true, nil
}
