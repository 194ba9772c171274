package policy

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Key is one key of a private table, or of a column of it, with its value as YAML on one line.
type Key struct {
	Table       Name
	Column      string // empty: the table's own
	Name, Value string
	Comment     string
}

// List prints texts as a YAML list on one line.
func List(texts []string) string {
	quoted := make([]string, len(texts))
	for i, s := range texts {
		quoted[i] = quotedScalar(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// quotedScalar prints a text as YAML that is read as that text.
func quotedScalar(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case unprintable(r):
			fmt.Fprintf(&b, `\U%08X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Print writes keys as a part of a policy file; database is empty where the file has one.
func Print(database string, keys []Key) string {
	text := printTables(keys)
	if database == "" {
		return text
	}
	var b strings.Builder
	fmt.Fprintf(&b, "databases:\n  %s:\n", plainOrQuoted(database))
	for line := range strings.Lines(text) {
		b.WriteString("    " + line)
	}
	return b.String()
}

func printTables(keys []Key) string {
	var b strings.Builder
	b.WriteString("tables:\n")
	var table Name
	column := ""
	for _, k := range keys {
		if k.Table != table {
			table, column = k.Table, ""
			fmt.Fprintf(&b, "  %s:\n", tableKey(k.Table))
		}
		if k.Column != column {
			if column == "" {
				b.WriteString("    columns:\n")
			}
			column = k.Column
			fmt.Fprintf(&b, "      %s:\n", plainOrQuoted(k.Column))
		}
		indent := "    "
		if k.Column != "" {
			indent = "        "
		}
		fmt.Fprintf(&b, "%s%s: %s # %s\n", indent, k.Name, k.Value, k.Comment)
	}
	return b.String()
}

// tableKey is the shortest key of a table.
func tableKey(n Name) string {
	part := func(s string) string {
		if strings.ContainsAny(s, `." `) {
			return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
		}
		return s
	}
	if n.Schema == "public" {
		return plainOrQuoted(part(n.Relation))
	}
	return plainOrQuoted(part(n.Schema) + "." + part(n.Relation))
}

// plainOrQuoted leaves names as they are that YAML reads as texts.
func plainOrQuoted(s string) string {
	plain := s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '.')
	}) && (s[0] < '0' || s[0] > '9') && s[0] != '.'
	if plain && !slices.Contains([]string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"},
		strings.ToLower(s)) {
		return s
	}
	return quotedScalar(s)
}

// Edit writes keys into the text of a policy file and keeps all else as it is, comments among it; database is empty
// where the file has one. The result is a valid policy, or there is an error and nothing to write.
func Edit(file string, data []byte, database string, keys []Key) ([]byte, error) {
	for _, k := range keys {
		changed, err := edit(data, database, k)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w; write it by hand", file, k.path(), err)
		}
		data = changed
	}
	if _, err := Parse(file, data); err != nil {
		return nil, fmt.Errorf("%s would not be a valid policy with these keys, so it stays as it is:\n%w", file, err)
	}
	return data, nil
}

// AddTable writes a table, as lines that are indented by two at least below an empty one, behind the last of a policy
// file's tables, and keeps all else as it is; database is empty where the file has one. The result is a valid policy,
// or there is an error and nothing to write.
func AddTable(file string, data []byte, database, lines string) ([]byte, error) {
	data, err := addTable(data, database, lines)
	if err != nil {
		return nil, fmt.Errorf("%s: tables: %w; write this by hand:\n%s", file, err, lines)
	}
	if _, err := Parse(file, data); err != nil {
		return nil, fmt.Errorf("%s would not be a valid policy with this table, so it stays as it is:\n%w", file, err)
	}
	return data, nil
}

func addTable(data []byte, database, lines string) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	text := newText(data)
	node := tablesOf(doc.Content[0], database)
	if node == nil || len(node.Content) == 0 || node.Style&yaml.FlowStyle != 0 {
		return nil, errForm
	}
	after, err := text.lastLine(node)
	if err != nil {
		return nil, err
	}
	indent := strings.Repeat(" ", node.Content[0].Column-1)
	for after < len(text.lines) && bytes.HasPrefix(data[text.lines[after]:], []byte(indent+" ")) {
		after++ // comments of the last table
	}
	return text.insert(after, strings.ReplaceAll(lines, "\n  ", "\n"+indent)), nil
}

func (k Key) path() string {
	if k.Column == "" {
		return k.Table.String() + "." + k.Name
	}
	return k.Table.String() + ".columns." + k.Column + "." + k.Name
}

var errForm = errors.New("the file has a form here that is not edited")

// edit writes one key.
func edit(data []byte, database string, k Key) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	text := newText(data)
	node := tablesOf(doc.Content[0], database)
	node = field(node, func(key string) bool { n, _ := relation(key); return n == k.Table })
	if k.Column != "" {
		node = field(node, func(key string) bool { return key == "columns" })
		node = field(node, func(key string) bool { return key == k.Column })
	}
	if node == nil || node.Kind != yaml.MappingNode || node.Anchor != "" {
		return nil, errForm
	}
	if old := field(node, func(key string) bool { return key == k.Name }); old != nil {
		end, err := text.end(old)
		if err != nil {
			return nil, err
		}
		return text.replace(text.offset(old), end, k.Value), nil
	}
	if node.Style&yaml.FlowStyle != 0 {
		return text.insertFlow(node, k)
	}
	return text.insertLine(node, k)
}

// tablesOf finds a file's tables; nil: it has none.
func tablesOf(node *yaml.Node, database string) *yaml.Node {
	if database != "" {
		node = field(node, func(key string) bool { return key == "databases" })
		node = field(node, func(key string) bool { return key == database })
	}
	return field(node, func(key string) bool { return key == "tables" })
}

// field finds the value of a key; nil where there is none.
func field(node *yaml.Node, is func(string) bool) *yaml.Node {
	if node == nil || node.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if is(node.Content[i].Value) {
			return node.Content[i+1]
		}
	}
	return nil
}

// editedText finds places of YAML nodes in a text.
type editedText struct {
	data  []byte
	lines []int // offsets of their beginnings
}

func newText(data []byte) editedText {
	t := editedText{data, []int{0}}
	for i, c := range data {
		if c == '\n' {
			t.lines = append(t.lines, i+1)
		}
	}
	return t
}

// offset is where a node begins: columns count characters.
func (t editedText) offset(n *yaml.Node) int {
	at := t.lines[n.Line-1]
	for range n.Column - 1 {
		_, size := utf8.DecodeRune(t.data[at:])
		at += size
	}
	return at
}

func (t editedText) replace(from, to int, by string) []byte {
	return slices.Concat(t.data[:from], []byte(by), t.data[to:])
}

// closing are the bytes with which values end that begin with one of their own.
var closing = map[byte]byte{'[': ']', '{': '}', '"': '"', '\'': '\''}

// end is the offset behind a value that is a plain text on one line, or begins with a bracket or a quote: where the
// YAML that begins there is read as the value.
func (t editedText) end(n *yaml.Node) (int, error) {
	at := t.offset(n)
	if n.Anchor != "" || at == len(t.data) {
		return 0, errForm
	}
	if n.Kind == yaml.ScalarNode && n.Style == 0 && n.Value != "" && strings.HasPrefix(string(t.data[at:]), n.Value) {
		return at + len(n.Value), nil
	}
	last, ok := closing[t.data[at]]
	for end := at + 1; ok && end < len(t.data); end++ {
		var read yaml.Node
		if t.data[end] == last && yaml.Unmarshal(t.data[at:end+1], &read) == nil &&
			read.Content[0].Value == n.Value && len(read.Content[0].Content) == len(n.Content) {
			return end + 1, nil
		}
	}
	return 0, errForm
}

// insertFlow adds a key to {…}.
func (t editedText) insertFlow(node *yaml.Node, k Key) ([]byte, error) {
	end, err := t.end(node)
	if err != nil {
		return nil, err
	}
	at := end - 1
	for t.data[at-1] == ' ' {
		at--
	}
	if t.data[at-1] == '\n' || t.data[at-1] == ',' {
		return nil, errForm
	}
	entry := k.Name + ": " + k.Value
	if len(node.Content) > 0 {
		entry = ", " + entry
	}
	return t.replace(at, at, entry), nil
}

// insertLine adds a key to a block, behind the one that it goes with.
func (t editedText) insertLine(node *yaml.Node, k Key) ([]byte, error) {
	if len(node.Content) == 0 {
		return nil, errForm
	}
	after := len(node.Content) - 2
	for _, name := range []string{"privacy_unit", "bounds", "max_rows_per_unit"} { // the last of these that there is
		for i := 0; i < len(node.Content); i += 2 {
			if node.Content[i].Value == name {
				after = i
			}
		}
	}
	line, err := t.lastLine(node.Content[after+1])
	if err != nil {
		return nil, err
	}
	first := node.Content[0]
	entry := strings.Repeat(" ", first.Column-1) + k.Name + ": " + k.Value + "\n"
	return t.insert(line, entry), nil
}

// insert adds lines before one, or behind the last.
func (t editedText) insert(line int, entry string) []byte {
	if line < len(t.lines) {
		return t.replace(t.lines[line], t.lines[line], entry)
	}
	return slices.Concat(t.data, []byte("\n"+entry))
}

// lastLine is the number of the line on which a node ends.
func (t editedText) lastLine(n *yaml.Node) (int, error) {
	if n.Kind != yaml.ScalarNode && n.Style&yaml.FlowStyle == 0 && len(n.Content) > 0 {
		return t.lastLine(n.Content[len(n.Content)-1])
	}
	if n.Kind == yaml.AliasNode {
		return n.Line, nil
	}
	end, err := t.end(n)
	if err != nil {
		return 0, err
	}
	return slices.IndexFunc(append(t.lines, len(t.data)+1), func(begin int) bool { return begin >= end }), nil
}
