package main

import (
	"context"
	"fmt"

	"github.com/dpproxy/dpproxy/internal/initpolicy"
)

type initCommand struct {
	Main   string   `required:"" placeholder:"DSN" env:"DPPROXY_MAIN_DSN" help:"The database to protect; a role that may see its tables' definitions."`
	Unit   string   `placeholder:"TABLE" help:"The table with one row per unit to protect; without it, the likeliest one."`
	Public []string `placeholder:"TABLE,…" help:"Tables that hold nobody's rows."`
}

// Help is shown by --help.
func (initCommand) Help() string {
	return "Prints a commented policy from the schema alone: no row and no statistics are read. Review it before use."
}

func (c *initCommand) Run(ctx context.Context, s *streams) error {
	text, err := initpolicy.Print(ctx, c.Main, initpolicy.Options{Unit: c.Unit, Public: c.Public})
	if err != nil {
		return err
	}
	fmt.Fprint(s.out, text)
	return nil
}
