package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
	mangokong "github.com/alecthomas/mango-kong"
	kongcompletion "github.com/jotaen/kong-completion"

	"github.com/dpproxy/dpproxy/internal/research/papers"
	"github.com/dpproxy/dpproxy/internal/research/study"
	"github.com/dpproxy/dpproxy/internal/version"
)

// cli declares the command line; its tags are the help text.
type cli struct {
	Serve      serveCommand      `cmd:"" help:"Run the proxy."`
	Setup      setupCommand      `cmd:"" help:"Create or update roles, grants, the shadow database and a shared ledger's schema."`
	Check      checkCommand      `cmd:"" help:"Check a policy file: prints ok, or every problem with its position."`
	Init       initCommand       `cmd:"" help:"Print a first policy from a database's schema, never from its data."`
	Explain    explainCommand    `cmd:"" help:"Say what a statement would cost and how well it would be answered."`
	Certify    certifyCommand    `cmd:"" help:"Say what follows from the queries for main alone: how far one unit moves each of their numbers."`
	Console    consoleCommand    `cmd:"" help:"Print a token that lets an administrator into the console."`
	Budget     budgetCommand     `cmd:"" help:"Show and administer budgets."`
	Profile    profileCommand    `cmd:"" help:"Release bounds, rows per unit and domains with noise, as keys of the policy."`
	Synthesize synthesizeCommand `cmd:"" help:"Draw tables of nobody's rows by counts that are released with noise."`
	Mechanism  study.Command     `cmd:"" help:"Study the mechanisms: calibrations, proofs by enumeration, figures."`
	Paper      papers.Command    `cmd:"" help:"The papers behind the mechanisms, recomputed: tables, figures, and where they are wrong."`
	Demo       demoCommand       `cmd:"" help:"A clinic to ask: own PostgreSQL, data, policy and proxy, until Ctrl-C."`
	Passwd     passwdCommand     `cmd:"" help:"Read a password and print its SCRAM-SHA-256 verifier for the policy file."`

	Completion kongcompletion.Completion `cmd:"" help:"Say how a shell completes commands and flags."`

	Version kong.VersionFlag  `help:"Print the version."`
	Man     mangokong.ManFlag `hidden:"" help:"Print the manual page."`
}

// streams are what a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

func main() {
	os.Exit(run(os.Args[1:], &streams{os.Stdin, os.Stdout, os.Stderr}))
}

// run is the whole program: it returns the exit code.
func run(args []string, s *streams) int {
	exited, code := false, 0
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	commands := &cli{}
	parser, err := kong.New(commands,
		kong.Name("dpproxy"),
		kong.Description("A differential-privacy firewall for PostgreSQL."),
		kong.Writers(s.out, s.err),
		kong.Exit(func(c int) { exited, code = true, c }), // --help
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Vars{"version": version.Of().String()},
		kong.Bind(s, commands),
		kong.BindTo(s.out, (*io.Writer)(nil)), // for the mechanism commands
		kong.BindTo(ctx, (*context.Context)(nil)),
	)
	if err != nil {
		return s.report(err)
	}
	kongcompletion.Register(parser) // answers the shell, and ends, where one asks what may follow
	if exited {
		return code
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	command, err := parser.Parse(commandFirst(parser.Model.Node, args))
	if exited {
		return code
	}
	if err != nil {
		var usage *kong.ParseError
		if errors.As(err, &usage) {
			err = &failure{code: exitUsage, err: usage, hint: "dpproxy --help lists commands and flags"}
		}
		return s.report(err)
	}
	return s.report(command.Run())
}

// commandFirst moves flags that stand before a command or its subcommand behind them, where kong looks for them.
func commandFirst(node *kong.Node, args []string) []string {
	for i, a := range args {
		if a == "--" {
			break
		}
		if i > 0 && takesValue(node, args[i-1]) {
			continue
		}
		for _, child := range node.Children {
			if child.Name == a {
				return append([]string{a}, commandFirst(child, slices.Concat(args[:i], args[i+1:]))...)
			}
		}
	}
	return args
}

// takesValue reports whether an argument is a flag, of a command or of one below it, whose value is the next argument.
func takesValue(node *kong.Node, arg string) bool {
	name, isFlag := strings.CutPrefix(arg, "--")
	if !isFlag {
		return false
	}
	return slices.ContainsFunc(node.Flags, func(f *kong.Flag) bool { return f.Name == name && !f.IsBool() }) ||
		slices.ContainsFunc(node.Children, func(child *kong.Node) bool { return takesValue(child, arg) })
}
