package initpolicy_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dpproxy/dpproxy/internal/initpolicy"
	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
)

// published are schemas that others have published. In the first line of each that begins with "nobody:", a person has
// named the tables that truly lead to nobody.
var published = []struct {
	name  string // in the table of docs/policy.md
	files []string
}{
	{"AdventureWorks", []string{"adventureworks"}},
	{"Chinook", []string{"chinook"}},
	{"employee", []string{"employee"}},
	{"MIMIC-IV, no keys", []string{"mimic"}},
	{"Northwind", []string{"northwind"}},
	{"OMOP CDM 5.4, no foreign keys", []string{"omop"}},
	{"OMOP CDM 5.4, foreign keys", []string{"omop", "omop_keys"}},
	{"Pagila", []string{"pagila"}},
}

// offer is what init says of the tables that it does not protect.
type offer struct {
	tables            int
	offered, withheld []string // withheld with the reason
}

var (
	offerLine    = regexp.MustCompile(`(?m)dpproxy init … --public '?([^'\n]*)`)
	withheldLine = regexp.MustCompile(`(?m)^  #   (.*)$`)
)

func offerOf(t *testing.T, sql string) offer {
	t.Helper()
	s, name := pgservertest.Database(t, sql)
	text, err := initpolicy.Print(context.Background(), s.DSN(name, pgserver.Superuser), initpolicy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o := offer{tables: strings.Count(sql, "CREATE TABLE ")}
	if m := offerLine.FindStringSubmatch(text); m != nil {
		o.offered = strings.Split(m[1], ",")
	}
	_, kept, _ := strings.Cut(text, "# Not offered as public:")
	kept, _, _ = strings.Cut(kept, "\n\n")
	for _, m := range withheldLine.FindAllStringSubmatch(kept, -1) {
		o.withheld = append(o.withheld, m[1])
	}
	return o
}

// TestPublishedSchemas holds what init offers as public of schemas that were not made here: nothing that leads to
// people, and what it withholds without need is counted in docs/policy.md.
func TestPublishedSchemas(t *testing.T) {
	rows := "| schema | tables | protected | offered | withheld | of these without need |\n|---|---|---|---|---|---|\n"
	for _, p := range published {
		var sql string
		for _, file := range p.files {
			text, err := os.ReadFile(filepath.Join("testdata/schemas", file+".sql"))
			if err != nil {
				t.Fatal(err)
			}
			sql += string(text)
		}
		_, marked, _ := strings.Cut(sql, "-- nobody: ")
		marked, _, _ = strings.Cut(marked, "\n")
		nobodys := strings.Split(marked, ", ")
		o := offerOf(t, sql)
		var b strings.Builder
		for _, table := range o.offered {
			fmt.Fprintf(&b, "offered %s\n", table)
			if !slices.Contains(nobodys, table) {
				t.Errorf("%s: %s is offered as public, and leads to people", p.name, table)
			}
		}
		needless := 0
		for _, line := range o.withheld {
			table, _, _ := strings.Cut(line, ": ")
			word := "withheld"
			if slices.Contains(nobodys, table) {
				needless++
				word = "without need"
			}
			fmt.Fprintf(&b, "%s %s\n", word, line)
		}
		golden(t, filepath.Join("testdata/schemas", p.files[len(p.files)-1]+".want"), b.String())
		rows += fmt.Sprintf("| %s | %d | %d | %d | %d | %d |\n", p.name, o.tables, o.tables-len(o.offered)-len(o.withheld),
			len(o.offered), len(o.withheld), needless)
	}
	page := "../../docs/policy.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	begin := strings.Index(string(text), "| schema | tables | protected |")
	if begin < 0 {
		t.Fatal("docs/policy.md has no table of schemas")
	}
	end := begin + strings.Index(string(text)[begin:], "\n\n") + 1
	golden(t, page, string(text)[:begin]+rows+string(text)[end:])
}

// golden compares a file with what it should be, or writes it.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}
