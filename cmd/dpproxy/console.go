package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/admin"
)

type consoleCommand struct{ policyFlag }

const consoleHelp = "Prints where the console's pages for administrators are, and a token that logs in there once, within two minutes. " +
	"It needs what dpproxy budget needs: the socket of the running proxy, or the shared ledger."

// Help is shown by --help.
func (consoleCommand) Help() string { return consoleHelp }

func (c *consoleCommand) Run(ctx context.Context, s *streams) error {
	p, err := c.load("ledger")
	if err != nil {
		return err
	}
	if p.Console == nil {
		return hinted(errors.New("the policy has no console"),
			"write console: {listen: 127.0.0.1:6480}, and restart the proxy")
	}
	token, err := admin.Token(ctx, p.Ledger, ledger.ConfigOf(p))
	if err != nil {
		return err
	}
	scheme := "http"
	if p.TLS != nil {
		scheme = "https"
	}
	fmt.Fprintf(s.out, "%s://%s/dba/login\n%s\n", scheme, p.Console.Listen, token)
	return nil
}
