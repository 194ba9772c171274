package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// prices are the defaults that are compared with those of init: what a statement costs.
var prices = []string{
	"epsilon: 0.5", "epsilon: 0.3", "epsilon: 0.25", "epsilon: 0.2", "epsilon: 0.5, margin: 10%",
	"epsilon: 0.4, margin: 10%",
}

var defaultsLine = regexp.MustCompile(`(?m)^defaults: \{.*\}`)

// reprice serves with other defaults.
func (w *world) reprice(defaults string) error {
	file := filepath.Join(w.folder, "policy.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if !defaultsLine.Match(text) {
		return fmt.Errorf("%s has no line of defaults", file)
	}
	text = defaultsLine.ReplaceAllLiteral(text, []byte("defaults: {"+defaults+", epsilon_max: 1}"))
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return err
	}
	_ = w.serving.Process.Signal(os.Interrupt)
	_ = w.serving.Wait()
	return w.serve()
}

// compare measures a world at each price: its tallies are in their order.
func (w *world) compare(ctx context.Context, rounds int) (list []tally, err error) {
	for _, price := range prices {
		if err := w.reprice(price); err != nil {
			return nil, err
		}
		if err := w.reset(ctx); err != nil {
			return nil, err
		}
		t, err := w.measure(ctx, rounds, io.Discard)
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return list, nil
}

// priceTable writes what the prices bring: of the questions those within 10 %, statements of a month, and the product:
// right answers of a month.
func priceTable(worlds [][]tally) string {
	var b strings.Builder
	b.WriteString("| defaults |")
	for _, list := range worlds {
		fmt.Fprintf(&b, " %s: within 10 %% | statements of a month | right answers of a month |", list[0].world)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|---|---|", len(worlds)) + "\n")
	for i, price := range prices {
		fmt.Fprintf(&b, "| `%s` |", price)
		for _, list := range worlds {
			t := list[i]
			near := float64(t.near) / float64(t.rounds)
			right := float64(t.near) / float64(t.answered) * float64(t.statements)
			fmt.Fprintf(&b, " %.1f of %d | %d | %.0f |", near, t.answered/t.rounds, t.statements, right)
		}
		b.WriteString("\n")
	}
	return b.String()
}
