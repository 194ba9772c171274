package demo

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// asked is one statement of a page with the rows that the page shows.
type asked struct {
	sql     string
	header  []string
	margins []float64 // of the columns, the widest of a column's; 0: none is said
	rows    [][]string
}

// TestAskPage follows docs/ask.md, and the README, in a demo of its own, as the demo's analyst and with that analyst's budget: every statement is
// answered, with the page's columns and rows, and the page's numbers are near those of another draw.
func TestAskPage(t *testing.T) {
	statements := append(readPage(t, "../../docs/ask.md"), readPage(t, "../../README.md")...)
	if len(statements) < 18 {
		t.Fatalf("the pages have %d statements", len(statements))
	}
	dsn := runningDemo(t)
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	for _, s := range statements {
		results, err := conn.PgConn().Exec(ctx, s.sql).ReadAll()
		if err != nil {
			t.Errorf("%s: %v", s.sql, err)
			continue
		}
		var header []string
		for _, f := range results[0].FieldDescriptions {
			header = append(header, f.Name)
		}
		if strings.Join(header, " ") != strings.Join(s.header, " ") || len(results[0].Rows) != len(s.rows) {
			t.Errorf("%s: columns %v and %d rows, on the page %v and %d", s.sql, header, len(results[0].Rows), s.header, len(s.rows))
			continue
		}
		for i, row := range results[0].Rows {
			for j, v := range row {
				if !near(string(v), s.rows[i][j], s.margins[j]) {
					t.Errorf("%s: row %d: %s is %s, on the page %s", s.sql, i+1, header[j], v, s.rows[i][j])
				}
			}
		}
	}
}

// readPage finds the transcripts of a page.
func readPage(t *testing.T, file string) (all []asked) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	cells := func(line string) []string {
		list := strings.Split(line, "|")
		for i := range list {
			list[i] = strings.TrimSpace(list[i])
		}
		return list
	}
	for _, block := range strings.Split(string(text), "clinic=> ")[1:] {
		sql, rest, _ := strings.Cut(block, ";\n")
		rest, _, _ = strings.Cut(rest, "\n```")
		lines := strings.Split(rest, "\n")
		for i, line := range lines {
			if strings.HasPrefix(line, "---") {
				s := asked{sql: sql, header: cells(lines[i-1])}
				for _, column := range s.header {
					s.margins = append(s.margins, marginOf(column, lines[:i-1]))
				}
				for _, row := range lines[i+1:] {
					if strings.HasPrefix(row, "(") { // counts them
						break
					}
					s.rows = append(s.rows, cells(row))
				}
				all = append(all, s)
			}
		}
	}
	return all
}

// margins is what a notice's DETAIL says of one aggregate: its name, and the margin, or the least and the greatest of all groups.
var margins = regexp.MustCompile(`^(?:DETAIL:  )?(.+): ±(?:\S+ to ±)?(\S+)$`)

// marginOf finds a column's margin in the notice above an answer: as minutes, or as avg(minutes).
func marginOf(column string, notice []string) float64 {
	for _, line := range notice {
		m := margins.FindStringSubmatch(line)
		if m != nil && (m[1] == column || strings.Contains(m[1], "("+column+")")) {
			margin, _ := strconv.ParseFloat(m[2], 64) // 0 for what is no number
			return margin
		}
	}
	return 0
}

// figure is a number within a text.
var figure = regexp.MustCompile(`-?\d+(?:\.\d+)?`)

// near says that two texts are the same but for numbers, which are within three margins of each other, or a tenth. Both have noise: their
// difference is beyond one margin in 17 of 100 cases, and beyond three in one of thirty thousand.
func near(a, b string, margin float64) bool {
	if figure.ReplaceAllString(a, "#") != figure.ReplaceAllString(b, "#") {
		return false
	}
	as, bs := figure.FindAllString(a, -1), figure.FindAllString(b, -1)
	for i := range as {
		x, err := strconv.ParseFloat(as[i], 64)
		y, failed := strconv.ParseFloat(bs[i], 64)
		if err != nil || failed != nil || max(x-y, y-x) > max(3*margin, x/10, y/10) {
			return false
		}
	}
	return true
}

// runningDemo starts a demo that ends with the test, and returns how its analyst connects.
func runningDemo(t *testing.T) string {
	t.Helper()
	t.Setenv("TMPDIR", "/tmp")
	ctx, cancel := context.WithCancel(context.Background())
	out, in := io.Pipe()
	ended := make(chan error, 1)
	var progress bytes.Buffer
	go func() {
		err := Run(ctx, Options{Listen: "127.0.0.1:0"}, in, &progress)
		in.CloseWithError(io.EOF)
		ended <- err
	}()
	t.Cleanup(func() {
		cancel()
		go func() { _, _ = io.Copy(io.Discard, out) }()
		if err := <-ended; err != nil {
			t.Errorf("the demo: %v\n%s", err, &progress)
		}
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if dsn, ok := strings.CutPrefix(strings.TrimSpace(lines.Text()), `psql "`); ok {
			return strings.TrimSuffix(dsn, `"`)
		}
	}
	t.Fatalf("the demo ended before it listened:\n%s", &progress)
	return ""
}
