package provision

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/policy"
)

// CheckApart compares the connections of the databases of one file, with what the environment adds to them: each needs
// a shadow of its own, and a role that reads private rows of one is that of main alone.
func CheckApart(p *policy.Policy) error {
	var problems []error
	all := make([]dsns, len(p.Several))
	for i, one := range p.Several {
		var err error
		if all[i], err = parseDSNs(one); err != nil {
			return one.Locate(err)
		}
		for j, other := range all[:i] {
			if why := all[i].notApart(other, p.Several[j].Name); why != nil {
				problems = append(problems, one.Locate(why))
			}
		}
	}
	return errors.Join(problems...)
}

// SameMain compares what live checks of the databases of one file have found: two names for one main are refused, since
// what is private by one of them could be public by the other. It sees through aliases of a server, and standbys.
func SameMain(found []*Findings) error {
	var problems []error
	for i, f := range found {
		for _, other := range found[:i] {
			if f.main == other.main && f.main != "" {
				problems = append(
					problems,
					f.policy.Locate(fmt.Errorf("databases.main: is the main database of %s, too: list its tables under one name",
						other.policy.Name)))
			}
		}
	}
	return errors.Join(problems...)
}

func (d dsns) notApart(other dsns, name string) error {
	sameDatabase := func(a, b *pgconn.Config) bool {
		return a != nil && b != nil && same(a, b) && a.Database == b.Database
	}
	sameRole := func(a, b *pgconn.Config) bool { return a != nil && b != nil && same(a, b) && a.User == b.User }
	switch {
	case sameDatabase(d.main, other.main):
		return fmt.Errorf("databases.main: is the main database of %s, too: list its tables under one name", name)
	case sameDatabase(d.shadow, other.shadow):
		return fmt.Errorf("databases.shadow: is the shadow of %s, too: each needs one of its own", name)
	case sameDatabase(d.shadow, other.main):
		return fmt.Errorf("databases.shadow: names the main database of %s", name)
	case sameDatabase(d.main, other.shadow):
		return fmt.Errorf("databases.main: names the shadow of %s", name)
	case sameDatabase(d.synthetic, other.synthetic), sameDatabase(d.synthetic, other.shadow),
		sameDatabase(d.synthetic, other.main):
		return fmt.Errorf("databases.synthetic: names a database of %s: each twin is a database of its own", name)
	case sameDatabase(d.main, other.synthetic), sameDatabase(d.shadow, other.synthetic):
		return fmt.Errorf("databases: main or shadow names the synthetic twin of %s", name)
	case sameRole(d.shadow, other.main), sameRole(d.public, other.main), sameRole(d.synthetic, other.main):
		return fmt.Errorf(
			"databases: the role %s of shadow, public or twin reads private rows of %s: one that does is that of main alone",
			other.main.User, name)
	case sameRole(d.main, other.shadow), sameRole(d.main, other.public), sameRole(d.main, other.synthetic):
		return fmt.Errorf(
			"databases.main: names the role %s, which %s uses for something else: one that reads private rows is that of main alone", d.main.User, name)
	}
	for _, a := range []*pgconn.Config{d.main, d.shadow, d.public, d.synthetic, d.synthesize} {
		for _, b := range []*pgconn.Config{other.main, other.shadow, other.public, other.synthetic, other.synthesize} {
			if sameRole(a, b) && a.Password != b.Password {
				return fmt.Errorf("databases: the role %s has another password for %s, and setup can give it one", a.User, name)
			}
		}
	}
	return nil
}
