package architecture_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// bare matches an error of the analysis that has a code of the refusals and no reason. PostgreSQL words one of them
// itself.
var bare = regexp.MustCompile(
	`pgerr\.(FeatureNotSupported|InsufficientPrivilege|ProgramLimitExceeded|StatementTooComplex)\b.*`)

// TestRefusalsHaveReasons: what the analysis refuses, it refuses for a reason of package refusal, which
// docs/refusals.md explains.
func TestRefusalsHaveReasons(t *testing.T) {
	err := filepath.WalkDir("../../internal/rewrite", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, found := range bare.FindAllString(string(text), -1) {
			if !strings.Contains(found, "cross-database references are not implemented") {
				t.Errorf("%s: %s", path, found)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
