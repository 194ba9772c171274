// Command questions asks dpproxy the questions that people ask of a shop, of a clinic and of TPC-H's warehouse, at an ε
// so large that noise is nil and under bounds that do not bind, and compares every answer with PostgreSQL's.
//
//	questions                           counts by intent, and every question that is refused or answered otherwise
//	questions -world shop               one world alone
//	questions -write docs/questions.md  the counts between the page's markers too
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "questions:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("questions", flag.ContinueOnError)
	only := flags.String("world", "", "ask one world alone")
	page := flags.String("write", "", "page whose table is replaced")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var results []result
	for _, name := range worlds {
		if *only != "" && *only != name {
			continue
		}
		more, err := askWorld(ctx, name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		results = append(results, more...)
	}
	fmt.Print(details(results))
	fmt.Print(table(results))
	if *page != "" {
		return write(*page, results)
	}
	return nil
}
