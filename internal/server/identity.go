package server

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/verifier"
	"github.com/dpproxy/dpproxy/internal/wire"
)

const (
	// authConnections serve logins only; a login holds one for one short query.
	authConnections = 4
	authTimeout     = 5 * time.Second
)

// identity knows the analysts of one policy.
type identity struct {
	policy    *policy.Policy
	pool      *pgxpool.Pool // auth by query; nil: verifiers are in the policy
	directory *directory    // auth by LDAP; nil: passwords are proved by SCRAM

	mu     sync.Mutex                // guards shapes
	shapes map[string]verifier.Shape // by user, of every verifier that was read: names without one look like one of them
}

func newIdentity(ctx context.Context, p *policy.Policy) (*identity, error) {
	i := &identity{policy: p, shapes: map[string]verifier.Shape{}}
	if p.Auth.Method == policy.AuthLDAP {
		var err error
		i.directory, err = newDirectory(p.Auth.LDAP)
		return i, err
	}
	if p.Auth.Method != policy.AuthQuery {
		for name, analyst := range p.Analysts {
			i.shaped(name, analyst.Verifier)
		}
		return i, nil
	}
	config, err := pgxpool.ParseConfig(p.Auth.DSN)
	if err != nil {
		return nil, fmt.Errorf("auth.dsn: %w", err)
	}
	config.MaxConns = authConnections
	// The database may be behind a pooler: leave nothing prepared on a connection.
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	if i.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, fmt.Errorf("auth.dsn: %w", err)
	}
	// A query that cannot run would refuse every login: try it with a name that nobody has.
	if _, err := i.query(ctx, "\x01"); err != nil {
		i.pool.Close()
		return nil, fmt.Errorf("auth.query: %w", err)
	}
	if err := i.readShapes(ctx); err != nil {
		i.pool.Close()
		return nil, fmt.Errorf("auth.query: %w", err)
	}
	return i, nil
}

// readShapes asks for every listed analyst: one who is left out, and whose verifier looks like nobody's else, would be
// told from unknown names.
func (i *identity) readShapes(ctx context.Context) error {
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(authConnections)
	for name := range i.policy.Analysts {
		all.Go(func() error {
			row, err := i.query(ctx, name)
			if err == nil && row.verifier != nil && row.name == name {
				i.shaped(name, *row.verifier)
			}
			return err
		})
	}
	return all.Wait()
}

// shaped notes how an analyst's verifier looks.
func (i *identity) shaped(analyst, of string) {
	if s, ok := verifier.ShapeOf(analyst, of); ok {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.shapes[analyst] = s
	}
}

// known are the shapes of all whose verifiers were read.
func (i *identity) known() []verifier.Shape {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Collect(maps.Values(i.shapes))
}

func (i *identity) close() {
	if i.pool != nil {
		i.pool.Close()
	}
}

// verifier returns the analyst that a user logs in as, and the verifier of their password.
func (i *identity) verifier(ctx context.Context, user string) (wire.Credential, bool, error) {
	analyst, listed := i.policy.Analysts[user]
	if i.pool == nil {
		if !listed || analyst.Verifier == "" {
			return wire.Credential{}, false, nil
		}
		return wire.Credential{Analyst: analyst.Name, Verifier: analyst.Verifier}, true, nil
	}
	// The query runs for users who are not listed too: they take as long.
	row, err := i.query(ctx, user)
	switch {
	case err != nil || row.verifier == nil || row.name != user:
		return wire.Credential{}, false, err
	case listed:
		i.shaped(user, *row.verifier) // which may be a new one
		return wire.Credential{Analyst: analyst.Name, Verifier: *row.verifier}, true, nil
	case i.policy.Members == nil || i.policy.MemberOf(user, row.group) == "":
		return wire.Credential{}, false, nil
	}
	i.policy.Members.Found(user, row.group)
	i.shaped(user, *row.verifier)
	return wire.Credential{Analyst: user, Verifier: *row.verifier}, true, nil
}

// login is a row of auth.query.
type login struct {
	name     string
	verifier *string // nil: there is no row, or it has no password
	group    string  // empty: the row names none
}

// query runs auth.query.
func (i *identity) query(ctx context.Context, user string) (login, error) {
	ctx, cancel := context.WithTimeout(ctx, authTimeout)
	defer cancel()
	rows, err := i.pool.Query(ctx, i.policy.Auth.Query, user)
	if err != nil {
		return login{}, err
	}
	found, err := pgx.CollectOneRow(rows, func(row pgx.CollectableRow) (l login, err error) {
		var group *string
		into := []any{&l.name, &l.verifier, &group}
		err = row.Scan(into[:max(2, min(3, len(row.FieldDescriptions())))]...)
		if group != nil {
			l.group = *group
		}
		return l, err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return login{}, columns(rows)
	}
	return found, err
}

// columns refuses a query whose rows would not be logins.
func columns(rows pgx.Rows) error {
	if n := len(rows.FieldDescriptions()); n != 2 && n != 3 {
		return fmt.Errorf("returns %d columns, and not name, verifier and perhaps group", n)
	}
	return nil
}

// certificate finds the analyst of a certificate: by common name, or by the first alternative name that fits.
func (i *identity) certificate(cert *x509.Certificate) (string, bool) {
	names := append([]string{cert.Subject.CommonName}, cert.DNSNames...)
	names = append(names, cert.EmailAddresses...)
	for _, uri := range cert.URIs {
		names = append(names, uri.String())
	}
	names = slices.DeleteFunc(names, func(n string) bool { return n == "" })
	for _, n := range names {
		for _, a := range i.policy.Analysts { // no two analysts have the same certificate
			if a.Certificate == n {
				return a.Name, true
			}
		}
	}
	return "", false
}

// authenticator answers wire from the policy that is in force.
type authenticator Server

func (a *authenticator) identity() (*identity, error) {
	if st := (*Server)(a).state.Load(); st != nil {
		return st.identity, nil
	}
	return nil, errStopped
}

// Verifier implements wire.Authenticator.
func (a *authenticator) Verifier(ctx context.Context, user string) (wire.Credential, bool, error) {
	i, err := a.identity()
	if err != nil {
		return wire.Credential{}, false, err
	}
	found, known, err := i.verifier(ctx, user)
	if now, _ := a.identity(); err != nil && now != i { // a reload has closed its connections
		return a.Verifier(ctx, user)
	}
	return found, known, err
}

// Shapes implements wire.Authenticator.
func (a *authenticator) Shapes() []verifier.Shape {
	i, err := a.identity()
	if err != nil {
		return nil
	}
	return i.known()
}

// Certificate implements wire.Authenticator.
func (a *authenticator) Certificate(cert *x509.Certificate) (string, bool) {
	i, err := a.identity()
	if err != nil {
		return "", false
	}
	return i.certificate(cert)
}

// Passwords implements wire.Authenticator.
func (a *authenticator) Passwords() bool {
	i, err := a.identity()
	return err == nil && i.policy.Auth.Method != policy.AuthCertificate
}
