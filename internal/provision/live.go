package provision

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/introspect"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

//go:embed sql/database.sql
var databaseSQL string

// Findings collects what the live check found. Every line says what to do.
type Findings struct {
	policy   *policy.Policy
	main     string   // identifies main among the databases of a file; empty: there is one
	Problems []error  // serve does not start
	Exposed  bool     // of CheckDrift: one of them is about rows of people that are read as public
	Advice   []string // what an administrator may want to change, with places
	Suspects []string // of Advice: public tables that look like people's
}

// Err joins all problems, each with its place in the policy; nil where there are none.
func (f *Findings) Err() error { return f.policy.Locate(errors.Join(f.Problems...)) }

func (f *Findings) problem(format string, args ...any) {
	f.Problems = append(f.Problems, fmt.Errorf(format, args...))
}

func (f *Findings) advise(format string, args ...any) {
	f.Advice = append(f.Advice, f.policy.Titled(f.policy.LocateLine(fmt.Sprintf(format, args...))))
}

// suspect advises on a public table, which serve warns of too.
func (f *Findings) suspect(format string, args ...any) {
	f.advise(format, args...)
	f.Suspects = append(f.Suspects, f.Advice[len(f.Advice)-1])
}

// CheckLive compares the policy with the databases. serve calls it before it listens, and at every reload; check --live
// prints it. An error means that a database did not answer; what it answered is in the findings. No private row is
// read.
func CheckLive(ctx context.Context, p *policy.Policy, b *backend.Backend) (*Findings, error) {
	c := &liveCheck{policy: p, backend: b, found: &Findings{policy: p}}
	defer c.close()
	if err := c.connect(ctx); err != nil {
		return nil, err
	}
	d, err := parseDSNs(p)
	if err != nil {
		c.found.Problems = append(c.found.Problems, err)
	} else if err := c.checkRoles(ctx, d); err != nil {
		return nil, err
	}
	for _, step := range []func(context.Context) error{
		c.identify, c.checkDatabases, c.checkPublic, c.checkPeople,
		c.checkReadable, c.checkCitus,
	} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	if c.schema, err = b.Schema(ctx); err != nil {
		c.found.Problems = append(c.found.Problems, err)
		return c.found, nil // the other checks count on it
	}
	for _, step := range []func(context.Context) error{c.checkEmpty, c.checkTwin, c.checkDomains} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	adviseUnits(c.schema, c.found)
	if err := c.adviseComments(ctx); err != nil {
		return nil, err
	}
	return c.found, c.adviseIndexes(ctx)
}

// liveCheck runs one live check, over its own connections as the roles of main, shadow, public and twin.
type liveCheck struct {
	policy               *policy.Policy
	backend              *backend.Backend
	schema               *rewrite.Schema
	main, shadow, public *connection // public: nil where no table is
	twin                 *connection // nil where there is none
	found                *Findings
}

func (c *liveCheck) connect(ctx context.Context) error {
	for _, to := range []struct {
		name, dsn string
		into      **connection
	}{
		{"main", c.policy.Databases.Main, &c.main},
		{"shadow", c.policy.Databases.Shadow, &c.shadow},
		{"public", c.policy.Databases.Public, &c.public},
		{"synthetic", c.policy.Databases.Synthetic, &c.twin},
	} {
		if to.name == "public" && !c.policy.HasPublicTable() || to.name == "synthetic" && c.policy.Synthetic == nil {
			continue
		}
		conn, err := open(ctx, to.name, to.dsn)
		if err != nil {
			return err
		}
		*to.into = conn
	}
	return nil
}

func (c *liveCheck) close() {
	for _, conn := range []*connection{c.main, c.shadow, c.public, c.twin} {
		if conn != nil {
			_ = conn.conn.Close(context.Background()) // done with it either way
		}
	}
}

// checkDatabases compares what the meaning of text and types depends on: the shadow evaluates constants for main
// (docs/privacy.md P4b, P24), and the twin orders and compares as main does.
func (c *liveCheck) checkDatabases(ctx context.Context) error {
	mirrors := []*connection{c.shadow}
	if c.twin != nil {
		mirrors = append(mirrors, c.twin)
	}
	var facts [3]map[string]string
	for i, p := range append([]*connection{c.main}, mirrors...) {
		facts[i] = map[string]string{}
		err := p.each(ctx, databaseSQL, func(rows pgx.Rows) error {
			var name, value string
			err := rows.Scan(&name, &value)
			facts[i][name] = value
			return err
		})
		if err != nil {
			return err
		}
	}
	for _, name := range []string{"major version", "encoding", "LC_COLLATE", "LC_CTYPE", "locale provider", "locale"} {
		for i, m := range mirrors {
			if main, its := facts[0][name], facts[i+1][name]; main != its {
				c.found.problem(
					"databases.%s: its %s is %q, main's is %q: drop that database and run dpproxy setup, which makes one like main",
					m.name, name, its, main)
			}
		}
	}
	if e := facts[0]["encoding"]; e != "UTF8" {
		c.found.problem("databases.main: its encoding is %s; dpproxy needs UTF8", e)
	}
	return nil
}

// sameDatabaseSQL identifies a database: a standby has the number of its primary.
const sameDatabaseSQL = "SELECT oid::text || ' ' || datname FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database()"

// identify finds out which database main is, where there are several: SameMain compares them.
func (c *liveCheck) identify(ctx context.Context) error {
	if c.policy.Name == "" {
		return nil
	}
	found, err := c.main.strings(ctx, "SELECT system_identifier::text || ' ' || ("+sameDatabaseSQL+
		") FROM pg_catalog.pg_control_system()")
	c.found.main = strings.Join(found, " ")
	return err
}

// checkPublic makes sure that public reads main's database, or a standby of it, and no other.
func (c *liveCheck) checkPublic(ctx context.Context) error {
	if c.public == nil {
		return nil
	}
	main, err := c.main.strings(ctx, sameDatabaseSQL)
	if err != nil {
		return err
	}
	public, err := c.public.strings(ctx, sameDatabaseSQL)
	if err != nil {
		return err
	}
	if !slices.Equal(main, public) {
		c.found.problem("databases.public: it is connected to %q, main to %q: it must name main's database", public, main)
	}
	return nil
}

// checkEmpty makes sure that the shadow holds no row.
func (c *liveCheck) checkEmpty(ctx context.Context) error {
	found, err := rowsAmong(ctx, c.shadow.conn, introspect.RelationNames(c.policy))
	if err != nil {
		return fmt.Errorf("databases.shadow: %w", err)
	}
	for _, name := range found {
		c.found.problem("databases.shadow: %s has rows; a shadow holds none: find out who wrote them, and empty it", name)
	}
	return nil
}
