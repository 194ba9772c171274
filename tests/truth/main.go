// Command truth asks databases that nobody has prepared, with the policy that `init` and `profile` write, what people
// ask, and compares every answer with PostgreSQL's: how many are answered, how near they are, whether printed intervals
// hold the truth, which rows are invented or missing, and how many statements a month pays for. It fails where a figure
// is worse than it was.
//
//	truth                         the table: a minute
//	truth -v                      every answer beside the truth too, and a line for each question
//	truth -world pagila           one database alone
//	truth -prices                 what other defaults of a statement's price would bring
//	truth -write docs/accuracy.md the table between the page's markers too
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/dpproxy/dpproxy/internal/pgserver"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "truth:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("truth", flag.ContinueOnError)
	only := flags.String("world", "", "ask one database alone")
	rounds := flags.Int("n", 3, "how often each question is asked, and as often with ends of intervals")
	verbose := flags.Bool("v", false, "print every answer beside the truth")
	page := flags.String("write", "", "page whose table is replaced")
	compare := flags.Bool("prices", false, "compare the defaults that a statement may cost, in place of the figures")
	if err := flags.Parse(args); err != nil {
		return err
	}
	postgres, err := pgserver.Start(ctx, pgserver.Options{Settings: map[string]string{"jit": "off"}})
	if err != nil {
		return err
	}
	defer postgres.Stop()
	folder, err := os.MkdirTemp("", "truth-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	program, err := build(ctx, folder)
	if err != nil {
		return err
	}
	detail := io.Discard
	if *verbose {
		detail = os.Stdout
	}
	var tallies []tally
	var compared [][]tally
	for _, w := range worlds {
		if *only != "" && *only != w.name {
			continue
		}
		began := time.Now()
		behind, err := start(ctx, postgres, program, w.name, w.rows())
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		fmt.Fprintf(detail, "\n--- %s: the policy\n%s", w.name, behind.profiled)
		var list []tally
		var t tally
		if *compare {
			list, err = behind.compare(ctx, *rounds)
		} else {
			t, err = behind.measure(ctx, *rounds, detail)
		}
		behind.stop(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		fmt.Fprintf(os.Stderr, "truth: %s took %s\n", w.name, time.Since(began).Round(time.Second))
		tallies, compared = append(tallies, t), append(compared, list)
	}
	if *compare {
		return publish(*page, pricesFrom, priceTable(compared))
	}
	text, missed := table(tallies)
	if err := publish(*page, figuresFrom, text); err != nil {
		return err
	}
	for _, t := range tallies {
		for _, why := range t.refused {
			fmt.Printf("\n%s, not answered: %s\n", t.world, why)
		}
	}
	if missed > 0 {
		return fmt.Errorf("%d figures are worse than they were", missed)
	}
	return nil
}
