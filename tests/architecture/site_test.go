package architecture_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestSiteHasEveryPage: the site's sidebar leads to every page of docs/, and docs/README.md to every one but those
// about decisions.
func TestSiteHasEveryPage(t *testing.T) {
	config, err := os.ReadFile(root + "/site/.vitepress/config.mjs")
	if err != nil {
		t.Fatal(err)
	}
	index, err := os.ReadFile(root + "/docs/README.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, m := range regexp.MustCompile(`page\('[^']+', '([^']+)'\)`).FindAllStringSubmatch(string(config), -1) {
		listed = append(listed, m[1]+".md")
	}
	pages, err := filepath.Glob(root + "/docs/*.md")
	if err != nil || len(pages) < 20 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	for _, page := range pages {
		name := filepath.Base(page)
		if name == "README.md" {
			continue
		}
		if !slices.Contains(listed, name) {
			t.Errorf("site/.vitepress/config.mjs does not list docs/%s", name)
		}
		if !strings.Contains(string(index), "("+name+")") {
			t.Errorf("docs/README.md does not list %s", name)
		}
	}
	for _, name := range listed {
		if _, err := os.Stat(filepath.Join(root, "docs", name)); err != nil {
			t.Errorf("site/.vitepress/config.mjs lists %v", err)
		}
	}
}

// TestSQLPageIsInPieces: nobody reads a cell of a hundred words, or a list of thirty.
func TestSQLPageIsInPieces(t *testing.T) {
	const longestCell, longestList = 80, 8 // words, bullets
	page, err := os.ReadFile(root + "/docs/sql.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, section := range strings.Split(string(page), "\n#") {
		if n := strings.Count(section, "\n- "); n > longestList {
			t.Errorf("%.40q has %d bullets", section, n)
		}
		for cell := range strings.SplitSeq(section, " | ") {
			if n := len(strings.Fields(cell)); strings.HasPrefix(section, "# In short") && n > longestCell {
				t.Errorf("a cell of %d words: %.60s", n, cell)
			}
		}
	}
}
