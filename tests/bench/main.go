// Command bench measures dpproxy against PostgreSQL itself, on a throw-away server, and prints ratios that were
// measured in one run: absolute times depend on the machine, ratios much less.
//
//	bench tpch [-sf 0.2]   measure queries against the plain queries and those that were written by hand, unit = customer
//	bench keys             statements that release 10,000 to 1,000,000 groups
//	bench growth           what grows with tables and columns: setup, start, reload, the look each minute
//	bench stages           where the time of a private statement goes
//	bench overhead         the same public statement direct, through PgBouncer, and through dpproxy
//	bench scale            what a larger installation would cost, by simulation (docs/scale.md)
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"time"

	"github.com/dpproxy/dpproxy/tests/bench/scale"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("usage: bench tpch|keys|growth|stages|overhead|scale")
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	sf := flags.Float64("sf", 0.2, "TPC-H scale factor")
	rounds := flags.Int("rounds", 6, "interleaved rounds; the first is dropped")
	only := flags.String("only", "", "tpch: queries whose name has this")
	page := flags.String("write", "", "scale: the page to write the tables into")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if args[0] == "scale" { // needs no server
		return scale.Print(ctx, os.Stdout, *page)
	}
	h, err := start(ctx)
	if err != nil {
		return err
	}
	defer h.stop()
	switch args[0] {
	case "tpch":
		return tpch(ctx, h, *sf, *rounds, *only)
	case "keys":
		return keys(ctx, h, *rounds)
	case "stages":
		return stages(ctx, h, 100**rounds)
	case "growth":
		return growth(ctx, h, *rounds)
	case "overhead":
		return overhead(ctx, h, *rounds)
	}
	return fmt.Errorf("unknown benchmark %q", args[0])
}

func median(d []time.Duration) time.Duration {
	s := slices.Clone(d)
	slices.Sort(s)
	return s[len(s)/2]
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.2f ms", float64(d.Microseconds())/1000)
}

func medianFloat(v []float64) float64 {
	s := slices.Clone(v)
	slices.Sort(s)
	return s[len(s)/2]
}
