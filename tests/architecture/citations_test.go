package architecture_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// privacyPage holds the propositions that code and other pages cite by number.
const privacyPage = "docs/privacy.md"

// proposition is one numbered section of the privacy page.
type proposition struct {
	code, tests []string // what is in backticks in its "Code:" and "Test:" paragraphs
}

var (
	heading  = regexp.MustCompile(`^### (P[0-9]+[a-z]?) \S`)
	backtick = regexp.MustCompile("`([^`]+)`")
	// citation is a proposition's number. P256 is a curve, P0001 an SQLSTATE.
	citation = regexp.MustCompile(`\bP[0-9]{1,2}[a-z]?\b`)
	// document is a path or name that ends in .md.
	document = regexp.MustCompile(`[A-Za-z0-9_./-]*[A-Za-z0-9_-]\.md\b`)
	testName = regexp.MustCompile(`^(Test|Benchmark|Fuzz)[A-Z][A-Za-z0-9]*$`)
	// filePath is a path, or the name of a file of a kind that is in the repository. In a path * matches any name.
	filePath = regexp.MustCompile(
		`^([a-zA-Z0-9_.*-]+/)*[a-zA-Z0-9_.*-]+\.(go|mod|txt|sql|sh|json|yaml|md)$|^(cmd|docs|internal|policies|tests)(/[a-zA-Z0-9_.*-]+)+$`)
	// absent are papers by which comments once cited rules: none of them is in the repository. SECURITY.md is, but it
	// numbers no rules.
	absent = regexp.MustCompile(
		`\b(PRIVACY|MECHANISMS|CONTRACT|ARCHITECTURE|MEASURE-SQL|BREACHES|ACCURACY|QUESTIONS|WIRE)\b|\b(SECURITY|STYLE|SCALE|HOUSE|DAY)(\.md)?,? (§|rule |[0-9])`)
)

// readPropositions reads the privacy page.
func readPropositions(t *testing.T) map[string]*proposition {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, privacyPage))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*proposition{}
	var current *proposition
	for _, paragraph := range strings.Split(string(page), "\n\n") {
		if strings.HasPrefix(paragraph, "#") {
			current = nil
			if m := heading.FindStringSubmatch(paragraph); m != nil {
				if all[m[1]] != nil {
					t.Errorf("%s: %s is defined twice", privacyPage, m[1])
				}
				current = &proposition{}
				all[m[1]] = current
			}
			continue
		}
		if current == nil {
			continue
		}
		if strings.HasPrefix(paragraph, "Code: ") {
			current.code = quoted(paragraph)
		} else if strings.HasPrefix(paragraph, "Test: ") {
			current.tests = quoted(paragraph)
		}
	}
	return all
}

// quoted lists what a paragraph has in backticks.
func quoted(paragraph string) []string {
	var list []string
	for _, m := range backtick.FindAllStringSubmatch(paragraph, -1) {
		list = append(list, m[1])
	}
	return list
}

// TestPropositionsNameCodeAndTests: what a proposition says is about code that exists, and a test that exists fails
// without it.
func TestPropositionsNameCodeAndTests(t *testing.T) {
	repo := readRepository(t)
	propositions := readPropositions(t)
	if len(propositions) < 30 {
		t.Errorf("%s has %d propositions, fewer than the 30 that others cite", privacyPage, len(propositions))
	}
	for number, p := range propositions {
		if len(p.code) == 0 {
			t.Errorf("%s %s names no code: add a paragraph \"Code: `identifier`\"", privacyPage, number)
		}
		for _, name := range p.code {
			if !repo.code[name] && !repo.files[name] {
				t.Errorf("%s %s: no declaration and no file is called %s: name what has taken its place", privacyPage, number, name)
			}
		}
		if len(p.tests) == 0 {
			t.Errorf("%s %s names no test: add a paragraph \"Test: `TestName`\"", privacyPage, number)
		}
		for _, name := range p.tests {
			if !repo.tests[name] && !repo.files[name] {
				t.Errorf("%s %s: no test and no file is called %s: name what has taken its place", privacyPage, number, name)
			}
		}
	}
}

// TestRecipesNameWhatExists: the files and tests that CONTRIBUTING.md sends a newcomer to are there.
func TestRecipesNameWhatExists(t *testing.T) {
	const page = "CONTRIBUTING.md"
	repo := readRepository(t)
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range quoted(string(text)) {
		switch {
		case testName.MatchString(name) && !repo.tests[name]:
			t.Errorf("%s: no test is called %s", page, name)
		case filePath.MatchString(name) && !repo.hasFile(name):
			t.Errorf("%s: there is no %s", page, name)
		}
	}
}

// TestArchitectureNamesEveryPackage: docs/architecture.md has a row for each package below internal.
func TestArchitectureNamesEveryPackage(t *testing.T) {
	const page = "docs/architecture.md"
	repo := readRepository(t)
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	missing := map[string]bool{}
	for file := range repo.files {
		folder := path.Dir(file)
		if strings.HasPrefix(folder, "internal/") && strings.HasSuffix(file, ".go") &&
			!strings.Contains(string(text), "`"+folder+"`") && !missing[folder] {
			missing[folder] = true
			t.Errorf("%s has no row for %s", page, folder)
		}
	}
}

// TestCitationsResolve: a proposition or a document that a comment or a page cites is in the repository.
func TestCitationsResolve(t *testing.T) {
	repo := readRepository(t)
	propositions := readPropositions(t)
	for _, c := range repo.texts {
		for i, line := range strings.Split(c.body, "\n") {
			for _, number := range citation.FindAllString(line, -1) {
				if propositions[number] == nil && !strings.HasSuffix(c.path, ".txt") {
					t.Errorf("%s:%d cites %s, which %s does not define", c.path, c.line+i, number, privacyPage)
				}
			}
			for _, name := range document.FindAllString(line, -1) {
				if !repo.hasDocument(c.path, name) {
					t.Errorf("%s:%d cites %s, which is not in the repository", c.path, c.line+i, name)
				}
			}
			if m := absent.FindString(line); m != "" {
				t.Errorf(
					"%s:%d cites a paper that is not in the repository (%q): cite a proposition of %s, a page of docs, or nothing",
					c.path, c.line+i, m, privacyPage)
			}
		}
	}
}

// hasFile finds a file or folder by a pattern of its path, or of the end of its path.
func (r *repository) hasFile(pattern string) bool {
	parts := strings.Count(pattern, "/") + 1
	for file := range r.files {
		names := strings.Split(file, "/")
		for end := parts; end <= len(names); end++ {
			if ok, err := path.Match(pattern, strings.Join(names[end-parts:end], "/")); ok && err == nil {
				return true
			}
		}
	}
	return false
}

// hasDocument finds a document by its path from the root, or from the file that cites it.
func (r *repository) hasDocument(from, name string) bool {
	name = strings.TrimPrefix(name, "/")
	return r.files[path.Clean(name)] || r.files[path.Join(path.Dir(from), name)]
}
