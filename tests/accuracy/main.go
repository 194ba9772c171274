// Command accuracy measures how far dpproxy's answers are from the truth: it starts a throw-away PostgreSQL with
// made-up data, asks each question many times through the real proxy, prints a table of errors with what they have to
// be, beside those of plain Laplace and Gaussian noise, and fails if one is missed.
//
//	accuracy                          the whole table: some minutes
//	accuracy -only single,noise       some rows of it
//	accuracy -write docs/accuracy.md  the table between the page's markers too; with -only, its lines of those rows
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "accuracy:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("accuracy", flag.ContinueOnError)
	n := flags.Int("n", 200, "how often a question by ward is asked; others are asked more often")
	only := flags.String("only", "", "rows to measure, by name: "+names())
	page := flags.String("write", "", "page whose table is replaced")
	if err := flags.Parse(args); err != nil {
		return err
	}
	for name := range strings.SplitSeq(*only, ",") {
		if name != "" && !slices.ContainsFunc(rows, func(r row) bool { return r.name == name }) {
			return fmt.Errorf("there is no row %q; there are %s", name, names())
		}
	}
	began := time.Now()
	w, err := start(ctx)
	if err != nil {
		return err
	}
	defer w.stop()
	var figures []figure
	for _, r := range rows {
		if *only != "" && !slices.Contains(strings.Split(*only, ","), r.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "accuracy: %s, after %s\n", r.name, time.Since(began).Round(time.Second))
		more, err := r.run(ctx, w, *n)
		if err != nil {
			fmt.Print(table(figures)) // what was measured so far took its time
			return fmt.Errorf("%s: %w", r.name, err)
		}
		figures = append(figures, more...)
	}
	fmt.Print(table(figures))
	fmt.Fprintf(os.Stderr, "accuracy: done in %s\n", time.Since(began).Round(time.Second))
	if *page != "" {
		if err := write(*page, table(figures), *only == ""); err != nil {
			return err
		}
	}
	if missed := countMissed(figures); missed > 0 {
		return fmt.Errorf("%d of %d figures miss their goals", missed, len(figures))
	}
	return nil
}

func names() string {
	var list []string
	for _, r := range rows {
		list = append(list, r.name)
	}
	return strings.Join(list, ", ")
}
