package architecture_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// terms are the glossary's, by their anchors, with the words that are them. A word that is used in other senses too has
// none.
var terms = []struct{ anchor, words string }{
	{"privacy-unit", `(?:privacy )?unit`},
	{"sensitivity", `sensitivity|sensitivities`},
	{"bounds", `bounds`},
	{"grid", `grid`},
	{"release", `releases?|released`},
	{"release-block", `release blocks?`},
	{"measure-query", `measure query|measure queries`},
	{"finish-query", `finish query|finish queries`},
	{"main", `main`},
	{"shadow", `shadow`},
	{"synthetic-twin", `synthetic twins?`},
	{"partition-selection", `partition selections?`},
	{"mechanism", `mechanisms?`},
	{"valid-range", `valid ranges?`},
	{"margin", `margins?`},
	{"epsilon", `ε|epsilon`},
	{"delta", `(?-i:δ)`},
	{"curve", `Rényi curves?|Rényi divergences?`},
	{"gaussian-dp", `Gaussian DP`},
	{"price", ""},
	{"layer", ""},
	{"accountant", `accountants?`},
}

// otherSense are pages in which a term is a word of something else.
var otherSense = map[string]string{
	"operations.md": "mechanism", // of SASL
	"mechanisms.md": "bounds",    // of mathematics
}

// notProse is what the first use of a term is not looked for in: code, headings, comments, tables that tests write, and
// links.
var notProse = []*regexp.Regexp{
	regexp.MustCompile("(?ms)^```.*?^```"),
	regexp.MustCompile(`(?m)(?:\A|^\n)(?:^ {4}.*\n+)+`),
	regexp.MustCompile(`(?m)^#.*`),
	regexp.MustCompile(`(?s)<!-- [a-z ]+: begin.*?<!-- [a-z ]+: end`),
	regexp.MustCompile("`[^`]+`"),
	regexp.MustCompile(`(?s)<!--.*?-->`),
}

var anyLink = regexp.MustCompile(`!?\[[^\[\]]*\]\([^()\s]*\)`)

// TestTermsAreLinked: where a page first uses a term of the glossary, it links it. Indices and pages that programs
// write are left out.
func TestTermsAreLinked(t *testing.T) {
	anchors := glossaryAnchors(t)
	for _, term := range terms {
		if !slices.Contains(anchors, term.anchor) {
			t.Errorf("docs/glossary.md has no %s", term.anchor)
		}
	}
	pages, err := filepath.Glob(root + "/docs/*.md")
	if err != nil || len(pages) < 20 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	decisions, err := filepath.Glob(root + "/docs/decisions/*.md")
	if err != nil {
		t.Fatal(err)
	}
	links := 0
	for _, page := range append(pages, decisions...) {
		name := filepath.Base(page)
		if slices.Contains([]string{"README.md", "glossary.md", "papers.md", "questions.md"}, name) {
			continue
		}
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		prose := string(text)
		for _, other := range notProse {
			prose = other.ReplaceAllStringFunc(prose, blank)
		}
		for _, term := range terms {
			if otherSense[name] == term.anchor {
				continue
			}
			line, linked := firstUse(prose, term.anchor, term.words)
			if line > 0 {
				t.Errorf("%s:%d uses %s first without a link to glossary.md#%s", name, line, term.words, term.anchor)
			}
			if linked {
				links++
			}
		}
	}
	if links < 100 {
		t.Errorf("%d links", links)
	}
}

// firstUse returns the line of the first use of a term if that is not a link to the glossary, else 0, and whether there
// is such a link. Words of other links are no uses.
func firstUse(prose, anchor, words string) (line int, linked bool) {
	link := regexp.MustCompile(`\]\((?:\.\./)?glossary\.md#` + anchor + `\)`).FindStringIndex(prose)
	prose = anyLink.ReplaceAllStringFunc(prose, blank)
	if words == "" {
		return 0, false
	}
	// What is before and behind a word is no part of it, so that `dpproxy.margin` or «per-unit» are none.
	word := regexp.MustCompile(`(?i)(?:^|[^\pL\pN_·/.«\-])(?:` + words + `)(?:$|[^\pL\pN_·/\-])`).FindStringIndex(prose)
	if word != nil && (link == nil || word[0] < link[0]) {
		return 1 + strings.Count(prose[:word[0]+1], "\n"), link != nil
	}
	return 0, link != nil
}

// blank keeps the places of what is behind it.
func blank(text string) string {
	return regexp.MustCompile(`[^\n]`).ReplaceAllStringFunc(
		text, func(c string) string { return strings.Repeat("\x00", len(c)) })
}

// glossaryAnchors are those of the headings, each of which is a term of the table.
func glossaryAnchors(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(root + "/docs/glossary.md")
	if err != nil {
		t.Fatal(err)
	}
	var anchors []string
	for _, m := range regexp.MustCompile(`(?m)^### (.+)$`).FindAllStringSubmatch(string(text), -1) {
		anchor := strings.ReplaceAll(strings.ToLower(m[1]), " ", "-")
		known := func(term struct{ anchor, words string }) bool { return term.anchor == anchor }
		if !slices.ContainsFunc(terms, known) {
			t.Errorf("docs/glossary.md has %s, which pages do not link", m[1])
		}
		anchors = append(anchors, anchor)
	}
	return anchors
}
