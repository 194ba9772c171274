package provision

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/policy"
)

// dsns are the policy's connection strings, taken apart. public is nil where no table is public, ledger where the
// ledger is a file, synthetic where there is no twin, and synthesize where the administrator fills it.
type dsns struct{ main, shadow, public, ledger, synthetic, synthesize *pgconn.Config }

func parseDSNs(p *policy.Policy) (dsns, error) {
	var d dsns
	var problems []error
	parse := func(key, dsn string, into **pgconn.Config) {
		if dsn == "" {
			problems = append(problems, p.MissingDSN(key))
			return
		}
		c, err := pgconn.ParseConfig(dsn)
		if err != nil {
			problems = append(problems, fmt.Errorf("databases.%s: %w", key, err))
			return
		}
		*into = c
	}
	parse("main", p.Databases.Main, &d.main)
	parse("shadow", p.Databases.Shadow, &d.shadow)
	if p.HasPublicTable() {
		parse("public", p.Databases.Public, &d.public)
	}
	if p.Synthetic != nil {
		parse("synthetic", p.Databases.Synthetic, &d.synthetic)
		if p.Databases.Filler() {
			parse("synthesize", p.Databases.Synthesize, &d.synthesize)
		}
	}
	if strings.HasPrefix(p.Ledger, "postgres://") || strings.HasPrefix(p.Ledger, "postgresql://") {
		parse("ledger", p.Ledger, &d.ledger)
	}
	if len(problems) == 0 {
		problems = d.conflicts()
	}
	return d, errors.Join(problems...)
}

// sameCluster reports whether main and the shadow live behind one address.
func (d dsns) sameCluster() bool { return same(d.main, d.shadow) }

func same(a, b *pgconn.Config) bool { return a.Host == b.Host && a.Port == b.Port }

// conflicts reports DSNs that can never be right.
func (d dsns) conflicts() []error {
	var problems []error
	if d.sameCluster() && d.main.Database == d.shadow.Database {
		problems = append(problems, fmt.Errorf("databases.shadow names main's database %s: the shadow needs one of its own",
			d.main.Database))
	}
	if d.sameCluster() && d.main.User == d.shadow.User {
		problems = append(
			problems,
			fmt.Errorf("databases.shadow names main's role %s, which reads private rows: the shadow needs one of its own",
				d.main.User))
	}
	if d.public != nil && d.main.User == d.public.User {
		problems = append(
			problems, fmt.Errorf("databases.public names main's role %s, which reads private rows: public needs one of its own",
				d.main.User))
	}
	return append(problems, d.twinConflicts()...)
}

func (d dsns) twinConflicts() (problems []error) {
	problem := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("databases.synthetic: "+format, args...))
	}
	t := d.synthetic
	switch {
	case t == nil:
		return nil
	case !same(t, d.shadow):
		problem("it must be on the server of the shadow, beside which setup makes it")
	case t.Database == d.shadow.Database, d.sameCluster() && t.Database == d.main.Database:
		problem("it names the database %s of main or the shadow: the twin needs one of its own", t.Database)
	case d.sameCluster() && t.User == d.main.User:
		problem("it names main's role %s, which reads private rows: the twin is read by another", t.User)
	case t.User == d.shadow.User && t.Password != d.shadow.Password:
		problem("the role %s has another password for the shadow, and setup can give it one", t.User)
	case d.synthesize != nil && (!same(d.synthesize, t) || d.synthesize.Database != t.Database):
		problem("databases.synthesize names another database: it writes what is read here")
	case d.synthesize != nil && (d.synthesize.User == t.User || d.sameCluster() && d.synthesize.User == d.main.User):
		problem("databases.synthesize names the role %s, which reads: who writes the twin is another", d.synthesize.User)
	}
	return problems
}
