package policy

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A case is a file: its expected problems ("# want: line:col: path: message"), and notes ("# note: …"), stand in it as
// comments, in the order in which they are reported.
func caseFiles(t testing.TB, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases in testdata/%s: %v", folder, err)
	}
	return files
}

// comments returns the rest of the lines that start with "# keyword: ".
func comments(t testing.TB, file, keyword string) []string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "# "+keyword+": "); ok {
			found = append(found, strings.TrimSuffix(rest, "\n"))
		}
	}
	return found
}

func positions(file string, problems Errors) []string {
	var lines []string
	for _, p := range problems {
		lines = append(lines, strings.TrimPrefix(p.String(), file+":"))
	}
	return lines
}

func TestGoodFiles(t *testing.T) {
	for _, file := range caseFiles(t, "good") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			p, err := Load(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(comments(t, file, "note"), positions(file, p.Notes)); diff != "" {
				t.Errorf("notes differ (-want +got):\n%s", diff)
			}
			if len(p.Version) != 64 {
				t.Errorf("version %q is not a SHA-256", p.Version)
			}
		})
	}
}

func TestBadFiles(t *testing.T) {
	for _, file := range caseFiles(t, "bad") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			p, err := Load(file)
			var problems Errors
			if !errors.As(err, &problems) || p != nil {
				t.Fatalf("got policy %v, error %v; want Errors", p != nil, err)
			}
			if diff := cmp.Diff(comments(t, file, "want"), positions(file, problems)); diff != "" {
				t.Errorf("problems differ (-want +got):\n%s", diff)
			}
		})
	}
}
