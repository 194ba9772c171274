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
	}
	o := initpolicy.Options{Unit: c.Unit, Public: c.Public, Analyst: c.Analyst, Secrets: filepath.ToSlash(c.Secrets)}
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
	if c.Secrets != "" {
		if err := writeSecrets(c.Secrets); err != nil {
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

// writeSecrets makes a password for each role, which nobody but the files' owner can read. One that is there stays.
func writeSecrets(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, role := range initpolicy.Roles {
		f, err := os.OpenFile(filepath.Join(dir, role), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := writeAll(f, []byte(rand.Text()+"\n")); err != nil {
			return err
		}
	}
	return nil
}
