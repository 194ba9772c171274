package papers

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write testdata, docs/papers.md and its figures anew")

const docs = "../../../docs"

const preamble = `# The papers, recomputed

The mechanisms come from three papers. This page recomputes their tables and figures, with what this product does beside
them ([mechanisms.md](mechanisms.md) has the proofs); where a paper is wrong or loose, it says so with the number. It is
the output of ` + "`dpproxy paper chen-hale|fu|croft`" + `, which prints the same as text and, with ` + "`--out DIR`" +
	`, writes the figures as
SVG. (Written by ` + "`go test ./internal/research/papers -update`" + `.)
`

// pages are all pages, as the commands print them.
func pages(t *testing.T) (list []page) {
	t.Helper()
	for _, build := range []func() (page, error){chenHale, func() (page, error) { return fu(3, 1) }, croft} {
		p, err := build()
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	return list
}

// held compares what is made with a file, or writes it.
func held(t *testing.T, name, want string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(got), want); d != "" {
		t.Errorf("%s is out of date: go test ./internal/research/papers -update\n%s", name, d)
	}
}

func TestPages(t *testing.T) {
	doc := preamble
	for _, p := range pages(t) {
		held(t, filepath.Join("testdata", p.name+".txt"), p.text())
		doc += "\n" + p.markdown("figures")
		for _, f := range p.figures() {
			if *update || runtime.GOARCH == "amd64" { // elsewhere multiplications and additions fuse: last digits differ
				held(t, filepath.Join(docs, "figures", f.Name+".svg"), f.SVG())
			}
		}
	}
	held(t, filepath.Join(docs, "papers.md"), doc)
}

// run is `dpproxy paper ARGS…` as kong runs it.
func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	k, err := kong.New(&Command{}, kong.BindTo(&out, (*io.Writer)(nil)), kong.Exit(func(int) {}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, err := k.Parse(args)
	if err != nil {
		return "", err
	}
	err = ctx.Run()
	return out.String(), err
}

func TestCommand(t *testing.T) {
	want, err := os.ReadFile("testdata/croft.txt")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := run(t, "croft"); err != nil || got != string(want) {
		t.Errorf("croft prints something else than testdata: %v", err)
	}
	dir := filepath.Join(t.TempDir(), "new")
	names, err := run(t, "croft", "--out", dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields(names) {
		if s, err := os.Stat(name); err != nil || s.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := len(strings.Fields(names)); n != 5 {
		t.Errorf("%d files, want the text and four figures:\n%s", n, names)
	}
}

// Any scale that is accepted gives a page, without a number that is none.
func TestScales(t *testing.T) {
	for _, args := range [][]string{{"--sigma=0.05", "--lambda=1000"}, {"--sigma=1000", "--lambda=0.05"}} {
		text, err := run(t, append([]string{"fu"}, args...)...)
		if err != nil || strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
			t.Errorf("%v: %v\n%s", args, err, text)
		}
	}
	for _, arg := range []string{"--sigma=0", "--lambda=-1", "--sigma=NaN", "--lambda=1e9"} {
		if _, err := run(t, "fu", arg); err == nil || !strings.Contains(err.Error(), "it must be between") {
			t.Errorf("%s: %v", arg, err)
		}
	}
}
