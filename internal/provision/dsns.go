package provision

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/policy"
)

// dsns are the policy's connection strings, taken apart. public is nil where no table is public, ledger where the
// ledger is a file.
type dsns struct{ main, shadow, public, ledger *pgconn.Config }

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
	return problems
}
