package policy

import "strings"

// places are the paths of the file's values, and where they stand.
type places struct {
	at    map[string]place
	roots map[string]string // paths as checks spell them, tables.public.patients → as the file does, tables.patients
}

// place is a line and a column, from 1.
type place struct{ line, column int }

// Locate gives errors of checks against the databases their place in the file, as problems of the file itself have.
// Each line that begins with the path of a key becomes FILE:line:col: path: message; others stay as they are.
func (p *Policy) Locate(err error) error {
	if err == nil || len(p.places.at) == 0 {
		return err
	}
	var found []string
	for line := range strings.Lines(err.Error()) {
		found = append(found, p.LocateLine(strings.TrimSuffix(line, "\n")))
	}
	return &Located{strings.Join(found, "\n"), err}
}

// Located is an error with places in the file, one on each line.
type Located struct {
	text string
	err  error
}

func (e *Located) Error() string { return e.text }
func (e *Located) Unwrap() error { return e.err }

// LocateLine gives one line its place in the file, if it begins with the path of a key.
func (p *Policy) LocateLine(line string) string {
	if problem, ok := p.locate(line); ok {
		return problem.String()
	}
	return line
}

// locate finds the longest beginning of a line's path that stands in the file.
func (p *Policy) locate(line string) (Problem, bool) {
	path, message, ok := strings.Cut(line, ": ")
	if !ok {
		return Problem{}, false
	}
	path = p.places.inFile(path)
	for known := path; known != ""; {
		if at, ok := p.places.at[known]; ok {
			return Problem{File: p.File, Line: at.line, Column: at.column, Path: path, Message: message}, true
		}
		known = known[:max(0, strings.LastIndexAny(known, ".["))]
	}
	return Problem{}, false
}

// inFile spells the path of a table as the file does.
func (p places) inFile(path string) string {
	for full, file := range p.roots {
		if rest, ok := strings.CutPrefix(path, full); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return file + rest
		}
	}
	return path
}
