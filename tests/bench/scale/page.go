package scale

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
)

// Print writes the tables to w, and into the page at a path if there is one.
func Print(ctx context.Context, w io.Writer, path string) error {
	sizes, err := Sizes(ctx, Large, Figures)
	if err != nil {
		return err
	}
	simulations := Simulations(Large, Figures)
	if _, err := fmt.Fprintln(w, sizes+"\n"+simulations); err != nil || path == "" {
		return err
	}
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if page, err = replace(page, "sizes", sizes); err != nil {
		return err
	}
	if page, err = replace(page, "simulations", simulations); err != nil {
		return err
	}
	return os.WriteFile(path, page, 0o644)
}

// replace puts a text between the marks of a page.
func replace(page []byte, name, text string) ([]byte, error) {
	from, to, err := part(page, name)
	if err != nil {
		return nil, err
	}
	return append(append(bytes.Clone(page[:from]), "\n"+text+"\n"...), page[to:]...), nil
}

// part returns where the text between the marks of a page begins and ends.
func part(page []byte, name string) (from, to int, err error) {
	begin, end := "<!-- "+name+": begin (go run ./tests/bench scale -write docs/scale.md) -->\n", "<!-- "+name+": end -->"
	from, to = bytes.Index(page, []byte(begin)), bytes.Index(page, []byte(end))
	if from < 0 || to < from {
		return 0, 0, fmt.Errorf("docs/scale.md has no part %q", name)
	}
	return from + len(begin), to, nil
}
