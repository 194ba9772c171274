package policy

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	// maxFileBytes bounds a policy file: a thousand tables with a hundred columns each fit.
	maxFileBytes = 4 << 20
	// maxValues bounds the values that the walker looks at. A file has fewer nodes than bytes; only aliases of aliases
	// (an alias bomb) get there.
	maxValues = 1 << 20
	// maxProblems keeps a file that is no policy at all from filling a terminal.
	maxProblems = 1000
)

// yamlLine finds the line in the text of an error of the YAML library.
var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// walker collects what is wrong while the parts of the policy are read.
type walker struct {
	file     string
	folder   string
	getenv   func(string) (string, bool)
	problems Errors
	notes    Errors
	places   map[string]place
	visited  int
	flooded  bool
}

func (w *walker) fail(line, column int, path, message string) {
	if len(w.problems) < maxProblems {
		w.problems = append(w.problems, Problem{w.file, line, column, path, message})
	}
}

// document returns the root of the file's only document; ok is false when there is nothing to walk.
func (w *walker) document(data []byte) (root value, ok bool) {
	if len(data) > maxFileBytes {
		w.fail(1, 1, "", "the file is larger than "+strconv.Itoa(maxFileBytes)+" bytes")
		return value{}, false
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	if err := decoder.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			w.fail(1, 1, "", "the file is empty")
		} else {
			w.syntax(err)
		}
		return value{}, false
	}
	var second yaml.Node
	switch err := decoder.Decode(&second); {
	case err == nil:
		w.fail(max(second.Line, 1), max(second.Column, 1), "", "a second document starts here; a policy is one document")
		return value{}, false
	case !errors.Is(err, io.EOF):
		w.syntax(err)
		return value{}, false
	}
	if len(doc.Content) != 1 {
		w.fail(1, 1, "", "the file is empty")
		return value{}, false
	}
	node := doc.Content[0]
	return w.value(node, node, ""), true
}

func (w *walker) syntax(err error) {
	text, line := err.Error(), 1
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		if m[1] != "" {
			line, _ = strconv.Atoi(m[1])
		}
		text = text[len(m[0]):]
	}
	w.fail(max(line, 1), 1, "yaml", strings.ReplaceAll(text, "\n", " "))
}
