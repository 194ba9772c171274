package policy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

const (
	// maxFileBytes bounds a policy file: a thousand tables with a hundred columns each fit.
	maxFileBytes = 4 << 20
	// maxValues bounds what aliases stand for: aliases of aliases (an alias bomb) multiply it.
	maxValues = 1 << 18
	// maxDepth bounds mappings and lists in each other: a policy has nine. An alias may stand within its own anchor.
	maxDepth = 16
	// maxProblems keeps a file that is no policy at all from filling a terminal.
	maxProblems = 1000
)

// yamlLine finds the line in the text of an error of the YAML library.
var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// hidden finds what lets a file be read otherwise than it is seen: line ends of YAML that editors show within a line,
// and controls that turn the order of a text.
var hidden = regexp.MustCompile(`\r(?:[^\n]|$)|[\x{85}\x{2028}\x{2029}\x{202A}-\x{202E}\x{2066}-\x{2069}]`)

// document is a file while it is read: where its values are, and what is wrong with them.
type document struct {
	file     string
	folder   string
	getenv   func(string) (string, bool)
	problems Errors
	notes    Errors
	places   map[string]place
	values   int             // that aliases stand for
	depth    int             // of the value that is copied
	aliased  bool            // it stands for an alias
	reported map[string]bool // paths of values whose shape is wrong
	named    map[Name]*Table // of the database that is being read
}

// fail reports what is wrong with a value, at its key, or where the key would be. What follows from a problem of shape
// is none of its own.
func (d *document) fail(path, format string, args ...any) {
	for p := path; p != ""; p = parent(p) {
		if d.reported[p] {
			return
		}
	}
	d.add(d.problem(path, format, args...))
}

func (d *document) add(p Problem) {
	if len(d.problems) < maxProblems {
		d.problems = append(d.problems, p)
	}
}

// note records something that is allowed but that the writer may not want.
func (d *document) note(path, format string, args ...any) {
	d.notes = append(d.notes, d.problem(path, format, args...))
}

func (d *document) problem(path, format string, args ...any) Problem {
	at := place{1, 1}
	for p := path; ; p = parent(p) {
		if found, ok := d.places[p]; ok || p == "" {
			if ok {
				at = found
			}
			return Problem{d.file, at.line, at.column, path, fmt.Sprintf(format, args...)}
		}
	}
}

// has reports whether a key is in the file.
func (d *document) has(path string) bool {
	_, ok := d.places[path]
	return ok
}

// child is the path of a mapping's key, element that of a list's item, and parent the opposite of both.
func child(path, name string) string {
	if path == "" {
		return shortened(name)
	}
	return path + "." + shortened(name)
}

func element(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

func parent(path string) string { return path[:max(0, strings.LastIndexAny(path, ".["))] }

// read returns the tree of the file's only document, of the shape that s says; nil when there is none. What is wrong is
// reported, and empty in the tree.
func (d *document) read(data []byte, s *schema) *yaml.Node {
	parsed := d.parse(data)
	if parsed == nil {
		return nil
	}
	root := d.tree(parsed, parsed, "")
	if d.values > maxValues {
		return nil
	}
	var broken []*yaml.Node
	s.check(root, "", func(n *yaml.Node, path, format string, args ...any) {
		d.fail(path, format, args...)
		broken = append(broken, n)
	})
	d.reported = map[string]bool{}
	for _, p := range d.problems {
		d.reported[p.Path] = true
	}
	for _, n := range broken {
		*n = yaml.Node{}
	}
	return root
}

// parse reads one document of YAML.
func (d *document) parse(data []byte) *yaml.Node {
	if len(data) > maxFileBytes {
		d.fail("", "the file is larger than %d bytes", maxFileBytes)
		return nil
	}
	if !utf8.Valid(data) { // YAML is UTF-16 too, in which nothing hidden would be found
		d.fail("", "the file is not UTF-8: save it as UTF-8")
		return nil
	}
	if at := hidden.FindIndex(data); at != nil {
		line := data[bytes.LastIndexByte(data[:at[0]], '\n')+1 : at[0]]
		d.places["yaml"] = place{bytes.Count(data[:at[0]], []byte("\n")) + 1, utf8.RuneCount(line) + 1}
		r, _ := utf8.DecodeRune(data[at[0]:])
		d.fail("yaml", "%U here would be read otherwise than it is shown: remove it; lines end with LF or CRLF, "+
			`and in a text "\u%04X" stands for it`, r, r)
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	err := decoder.Decode(&doc)
	switch {
	case errors.Is(err, io.EOF), err == nil && len(doc.Content) != 1:
		d.fail("", "the file is empty")
		return nil
	case err == nil:
		err = decoder.Decode(&second)
	}
	switch {
	case err == nil:
		d.places[""] = place{max(second.Line, 1), max(second.Column, 1)}
		d.fail("", "a second document starts here; a policy is one document")
	case !errors.Is(err, io.EOF):
		d.syntax(err)
	default:
		return doc.Content[0]
	}
	return nil
}

func (d *document) syntax(err error) {
	text, line := err.Error(), 1
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		if m[1] != "" {
			line, _ = strconv.Atoi(m[1])
		}
		text = text[len(m[0]):]
	}
	d.places["yaml"] = place{max(line, 1), 1}
	d.fail("yaml", "%s", strings.ReplaceAll(text, "\n", " "))
}

// tree copies a value without aliases, and with each of its keys once. What cannot be read is empty. at is the value's
// key.
func (d *document) tree(n, at *yaml.Node, path string) *yaml.Node {
	d.places[path] = place{at.Line, at.Column}
	depth, aliased := d.depth, d.aliased
	defer func() { d.depth, d.aliased = depth, aliased }()
	d.depth++
	if n.Kind == yaml.AliasNode { // points at a node of the document, never at another alias
		n, d.aliased = n.Alias, true
	}
	if d.aliased {
		d.values++
	}
	switch {
	case d.depth > maxDepth:
		d.fail(path, "has too many mappings and lists around it")
		return &yaml.Node{}
	case d.values == maxValues+1:
		d.fail(path, "too many values: aliases of aliases multiply them")
		return &yaml.Node{}
	case d.values > maxValues:
		return &yaml.Node{}
	case n.Style&yaml.TaggedStyle != 0:
		d.fail(path, "the tag %s is not understood: write the plain value", n.Tag)
		return &yaml.Node{}
	case strings.ContainsRune(n.Value, 0):
		d.fail(path, "must be a text without NUL")
		return &yaml.Node{}
	}
	copied := &yaml.Node{Kind: n.Kind, Style: n.Style, Tag: n.Tag, Value: n.Value}
	switch n.Kind {
	case yaml.MappingNode:
		d.pairs(n, copied, path)
	case yaml.SequenceNode:
		for i, item := range n.Content {
			if d.values > maxValues {
				break
			}
			copied.Content = append(copied.Content, d.tree(item, item, element(path, i)))
		}
	}
	return copied
}

// pairs copies the keys and values of a mapping.
func (d *document) pairs(n, into *yaml.Node, path string) {
	first := map[string]int{}
	for i := 0; i+1 < len(n.Content) && d.values <= maxValues; i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		at := child(path, key.Value)
		line, twice := first[key.Value]
		problem := ""
		switch {
		case key.Kind != yaml.ScalarNode || key.ShortTag() == "!!null":
			at, problem = path, "a key must be a name"
		case key.ShortTag() == "!!merge":
			problem = "merge keys are not supported: repeat the keys"
		case twice:
			problem = fmt.Sprintf("duplicate key, first defined on line %d", line)
		}
		if problem != "" {
			d.add(Problem{d.file, key.Line, key.Column, at, problem})
			continue
		}
		first[key.Value] = key.Line
		if before, _, colon := strings.Cut(key.Value, ":"); colon {
			d.places[child(path, before+":…")] = place{key.Line, key.Column} // as it is reported
		}
		name := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key.Value}
		into.Content = append(into.Content, name, d.tree(value, key, at))
	}
}

// entries goes through the keys and values of a mapping.
func entries(n *yaml.Node) iter.Seq2[string, *yaml.Node] {
	return func(yield func(string, *yaml.Node) bool) {
		for i := 0; i+1 < len(n.Content) && n.Kind == yaml.MappingNode; i += 2 {
			if !yield(n.Content[i].Value, n.Content[i+1]) {
				return
			}
		}
	}
}
