package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "print the outputs and tables of the pages anew")

const (
	// mostEdits is how many lines of a first policy may have to be written by hand.
	mostEdits = 6
	// mostDraws is how often pages are printed until each has all its numbers within their margins: half of the draws
	// have, or less.
	mostDraws = 30
)

// worlds are the databases that pages are read beside, and the pages in the order in which somebody reads them, as what
// is left of the budget says.
var worlds = []struct {
	name   string
	reader func(*testing.T) *reader
	pages  []string
}{
	{"clinic", newReader, []string{"README.md", "docs/ask.md", "docs/answers.md", "docs/choosing.md"}},
	{"rental", newShop, []string{"docs/tutorial.md"}},
}

// page is one of them, as it was read.
type page struct {
	file, text string
	unlike     []error // how its outputs differ from those of this reading by more than noise
}

// TestPages reads the pages as a newcomer would, typing all that blocks marked console have, and compares what is
// printed: words, columns, notices, costs, and the margins that EXPLAIN foretells, are the same. Numbers with noise
// lie, on the page, within the page's own margins of what PostgreSQL says of the rows itself. Blocks marked sh are for
// the reader's machine alone; blocks marked diff are edits of the policy.
func TestPages(t *testing.T) {
	for _, w := range worlds {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			left := slices.Clone(w.pages)
			for draw := 1; len(left) > 0 && !t.Failed(); draw++ {
				t.Run(fmt.Sprint("draw ", draw), func(t *testing.T) { left = readPages(t, w.reader(t), w.pages, left) })
				if draw == mostDraws && len(left) > 0 {
					t.Errorf("not one of %d draws of %v had all numbers within their margins", draw, left)
				}
			}
		})
	}
}

// readPages returns which pages have yet to be printed with all numbers within their margins.
func readPages(t *testing.T, r *reader, files, left []string) (again []string) {
	for _, file := range files {
		before, err := os.ReadFile("../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		p := page{file: file, text: string(before)}
		if *update {
			p.text = r.read(&p)
			if !slices.Contains(left, file) {
				continue
			}
			if strays := r.strays(p.text); len(strays) > 0 {
				t.Logf("%s: another draw, as %v", file, strays)
				again = append(again, file)
			} else if err := os.WriteFile("../../"+file, []byte(p.text), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		r.read(&p)
		for _, err := range slices.Concat(p.unlike, r.strays(p.text), untied(p.text)) {
			t.Errorf("%s: %v", file, err)
		}
	}
	if r.edits > mostEdits {
		t.Errorf("%d edits, wanted at most %d", r.edits, mostEdits)
	}
	return again
}

// read does what a page says, and returns the page with what is printed.
func (r *reader) read(p *page) string {
	var written strings.Builder
	for i, part := range strings.Split(p.text, "```") {
		if i > 0 {
			written.WriteString("```")
		}
		kind, body, _ := strings.Cut(part, "\n")
		switch {
		case i%2 == 0:
			part = r.tables(p, part)
		case kind == "console":
			part = "console\n" + r.follow(p, transcripts(body))
		case kind == "diff":
			part = "diff\n" + r.edit(body)
		case transcripts(body) != nil:
			r.t.Fatalf("%s: not marked as console:\n%s", p.file, body)
		}
		written.WriteString(part)
	}
	return written.String()
}

// transcript is something typed and what it prints.
type transcript struct {
	prompt string // "$ ", "clinic=> ", or, where the database itself is asked, "clinic=# "
	typed  string // lines after the first behind a prompt such as "clinic-> "
	output string // without empty lines around it
}

var (
	prompt       = regexp.MustCompile(`^(\$ |\w+=[>#] )(.*)`)
	continuation = regexp.MustCompile(`^\w+-[>#] (.*)`)
)

// transcripts are those of a block.
func transcripts(block string) (all []transcript) {
	for line := range strings.Lines(block) {
		line = strings.TrimRight(line, " \n")
		if m := prompt.FindStringSubmatch(line); m != nil {
			all = append(all, transcript{prompt: m[1], typed: m[2]})
		} else if m := continuation.FindStringSubmatch(line); m != nil && len(all) > 0 && all[len(all)-1].output == "" {
			all[len(all)-1].typed += "\n" + m[1]
		} else if len(all) > 0 {
			all[len(all)-1].output += line + "\n"
		}
	}
	for i := range all {
		all[i].output = strings.Trim(all[i].output, "\n")
	}
	return all
}

// String is how a page has it.
func (x transcript) String() string {
	more := "\n" + strings.NewReplacer("=> ", "-> ", "=# ", "-# ").Replace(x.prompt)
	text := x.prompt + strings.ReplaceAll(x.typed, "\n", more) + "\n"
	if x.output != "" {
		text += x.output + "\n"
	}
	return text
}

// private reports whether the answer has noise.
func (x transcript) private() bool { return strings.Contains(x.output, "NOTICE:  dpproxy: ") }

var (
	shown   = regexp.MustCompile("(?s)```.*?```|<!-- \\w+: TestPages -->.*?<!-- end -->")
	notText = regexp.MustCompile("`[^`]*`|\\]\\([^)]*\\)|(?m)^#.*$")
	claimed = regexp.MustCompile(`±\s?\d[\d,.]*\d|±\s?\d|\d[\d,.]*\s?(?:%|percent)|\d{1,3}(?:,\d{3})+`)
	stated  = regexp.MustCompile(`\b9?5 ?%`) // of margins, and of groups that are shown and are not there
	digits  = regexp.MustCompile(`\d+(?:\.\d+)?`)
)

// untied are the numbers of results, in the text of a page, that none of its outputs has. Rows of a text's tables
// quote, and give examples.
func untied(text string) (all []error) {
	outputs := digits.FindAllString(strings.Join(shown.FindAllString(text, -1), "\n"), -1)
	prose := notText.ReplaceAllStringFunc(shown.ReplaceAllString(text, ""), func(code string) string {
		if strings.Contains(code, "±") { // it quotes an output
			return code
		}
		return ""
	})
	for line := range strings.Lines(prose) {
		for _, claim := range claimed.FindAllString(stated.ReplaceAllString(line, ""), -1) {
			example := strings.HasPrefix(line, "|") && !strings.HasPrefix(claim, "±")
			if !example && !slices.Contains(outputs, digits.FindString(strings.ReplaceAll(claim, ",", ""))) {
				all = append(all, fmt.Errorf("%q stands in the text, and in no output", claim))
			}
		}
	}
	return all
}
