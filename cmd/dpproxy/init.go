package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/dpproxy/dpproxy/internal/initpolicy"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/verifier"
)

type initCommand struct {
	Main    string   `placeholder:"DSN" env:"DPPROXY_MAIN_DSN" help:"The database to protect; a role that may see its tables' definitions."`
	Unit    string   `placeholder:"TABLE" help:"The table with one row per unit to protect; without it, the likeliest one."`
	Public  []string `placeholder:"TABLE,…" help:"Tables that hold nobody's rows."`
	Analyst string   `placeholder:"NAME" help:"The first analyst, whose password is read as by dpproxy passwd."`
	Secrets string   `placeholder:"DIR" help:"Write passwords for the roles into files of this folder, unless they are there, and refer to them."`
	Service bool     `help:"Write the policy and the roles' passwords to /etc/dpproxy, for the service of the packages; the ledger will be in /var/lib/dpproxy."`
	Add     string   `placeholder:"TABLE" help:"Write one more table, from which a foreign key leads to one that is protected, into the policy of --policy, and keep its comments."`
	Policy  string   `placeholder:"FILE" help:"The policy file of --add."`
	databaseFlag
}

// Help is shown by --help.
func (initCommand) Help() string {
	return "Prints a commented policy from the schema alone: no row and no statistics are read. Review it before use. " +
		"With --add, prints one table, and writes it into an existing policy."
}

func (c *initCommand) Run(ctx context.Context, s *streams) error {
	switch {
	case (c.Add == "") != (c.Policy == ""):
		return &failure{code: exitUsage, err: errors.New("--add TABLE and --policy FILE go together")}
	case c.Add != "":
		return c.add(ctx, s)
	case c.Main == "":
		return &failure{code: exitUsage, err: errors.New("missing flags: --main=DSN")}
	case c.Service && c.Secrets != "":
		return &failure{code: exitUsage, err: errors.New("--service has its own --secrets")}
	}
	o := initpolicy.Options{Unit: c.Unit, Public: c.Public, Analyst: c.Analyst, Secrets: filepath.ToSlash(c.Secrets)}
	if c.Service {
		o.Secrets, o.Ledger = serviceSecrets, "file:"+serviceState+"/dpproxy.ledger"
	}
	if c.Analyst != "" {
		password, err := s.readPassword()
		if err != nil {
			return err
		}
		if o.Verifier, err = verifier.New(password); err != nil {
			return err
		}
	}
	text, err := initpolicy.Print(ctx, c.Main, o)
	if err != nil {
		return err
	}
	if c.Service {
		return s.writeService(text)
	}
	if c.Secrets != "" {
		if err := writeSecrets(c.Secrets, nobody); err != nil {
			return err
		}
	}
	fmt.Fprint(s.out, text)
	return nil
}

// add writes one table into a policy. main's role sees definitions as well as anybody.
func (c *initCommand) add(ctx context.Context, s *streams) error {
	p, err := c.one(policyFlag{c.Policy})
	if err != nil {
		return err
	}
	lines, err := initpolicy.Add(ctx, cmp.Or(c.Main, p.Databases.Main), p, c.Add)
	if err != nil {
		return err
	}
	fmt.Fprint(s.out, strings.TrimPrefix(lines, "\n"))
	return rewritePolicy(p, func(data []byte) ([]byte, error) { return policy.AddTable(p.File, data, p.Name, lines) })
}

// nobody is the group of files that their owner alone can read.
const nobody = -1

// writeSecrets makes a password for each role, which the files' owner and a group alone can read. One that is there
// stays.
func writeSecrets(dir string, group int) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, role := range initpolicy.Roles {
		err := create(filepath.Join(dir, role), rand.Text()+"\n", group)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// create writes a file that is not there yet.
func create(path, text string, group int) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if group != nobody {
		err = errors.Join(f.Chown(-1, group), f.Chmod(0o640))
	}
	return errors.Join(err, writeAll(f, []byte(text)))
}
