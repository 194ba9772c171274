package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dpproxy/dpproxy/internal/initpolicy"
	"github.com/dpproxy/dpproxy/internal/verifier"
)

type initCommand struct {
	Main    string   `required:"" placeholder:"DSN" env:"DPPROXY_MAIN_DSN" help:"The database to protect; a role that may see its tables' definitions."`
	Unit    string   `placeholder:"TABLE" help:"The table with one row per unit to protect; without it, the likeliest one."`
	Public  []string `placeholder:"TABLE,…" help:"Tables that hold nobody's rows."`
	Analyst string   `placeholder:"NAME" help:"The first analyst, whose password is read as by dpproxy passwd."`
	Secrets string   `placeholder:"DIR" help:"Write passwords for the roles into files of this folder, unless they are there, and refer to them."`
}

// Help is shown by --help.
func (initCommand) Help() string {
	return "Prints a commented policy from the schema alone: no row and no statistics are read. Review it before use."
}

func (c *initCommand) Run(ctx context.Context, s *streams) error {
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
