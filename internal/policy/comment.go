package policy

import (
	"bytes"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// commented finds the policy's keys in a comment of main: dpproxy: {bounds: [0, 120]}, up to the end of the line.
var commented = regexp.MustCompile(`(?m)(?:^|[\s;,.(])dpproxy:[ \t]*(\{.*?)\r?$`)

// maxComment bounds what is read of a comment, bytes.
const maxComment = 64 << 10

// ColumnComment reads the keys of a column in main's comment on it. text is what a policy would say; empty: the comment
// has no keys. The names of other tables are not for a comment to give.
func ColumnComment(comment string) (text string, c *Column, err error) {
	c = &Column{}
	text, err = readComment(comment, "column_comment", func(d *document, n *yaml.Node) {
		d.column(n, "", &Table{}, c, gridLiteral{}, RDP)
	})
	return text, c, err
}

// TableComment reads the keys of a table in main's comment on it. A comment cannot make a table public: whoever owns a
// table may write one.
func TableComment(comment string) (text string, t *Table, err error) {
	t = &Table{}
	text, err = readComment(comment, "table_comment", func(d *document, n *yaml.Node) {
		if err := n.Decode(t); err != nil {
			d.fail("", "%s", err)
		}
	})
	return text, t, err
}

// readComment has the keys of a comment read, which fit one of the schema's definitions, and returns them on one line.
func readComment(comment, definitionName string, read func(*document, *yaml.Node)) (string, error) {
	found := commented.FindStringSubmatch(comment)
	if found == nil {
		return "", nil
	}
	d := &document{file: "comment", places: map[string]place{}}
	if len(found[1]) > maxComment {
		return "", Errors{{File: d.file, Message: "is too long"}}
	}
	root := d.read([]byte(found[1]), definition(definitionName))
	if root != nil {
		read(d, root)
	}
	if len(d.problems) > 0 {
		return "", d.problems
	}
	var out bytes.Buffer
	if err := yaml.NewEncoder(&out).Encode(onOneLine(root)); err != nil {
		return "", err
	}
	return strings.TrimSpace(out.String()), nil
}

// onOneLine copies a tree without blocks, which need lines of their own.
func onOneLine(n *yaml.Node) *yaml.Node {
	c := &yaml.Node{Kind: n.Kind, Tag: n.Tag, Value: n.Value}
	switch {
	case n.Kind != yaml.ScalarNode:
		c.Style = yaml.FlowStyle
	case n.Style&quotedStyles != 0:
		c.Style = yaml.DoubleQuotedStyle
	}
	for _, child := range n.Content {
		c.Content = append(c.Content, onOneLine(child))
	}
	return c
}
