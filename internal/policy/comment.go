package policy

import (
	"bytes"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// commented finds the policy's keys in a comment of main: dpproxy: {bounds: [0, 120]}, up to the end of the line.
var commented = regexp.MustCompile(`(?m)(?:^|[\s;,.(])dpproxy:[ \t]*(\{.*)$`)

// maxComment bounds what is read of a comment, bytes.
const maxComment = 64 << 10

// ColumnComment reads the keys of a column in main's comment on it. text is what a policy would say; empty: the comment has no keys. The names
// of other tables are not for a comment to give.
func ColumnComment(comment string) (text string, c *Column, err error) {
	c = &Column{}
	text, err = readComment(comment, func(v value) {
		if v.object("bounds", "values", "valid", "per_unit", "grid"); len(v.w.problems) > 0 {
			return
		}
		readColumn(v, &Table{}, c, overrides{})
	})
	return text, c, err
}

// TableComment reads the keys of a table in main's comment on it. A comment cannot make a table public: whoever owns a table may write one.
func TableComment(comment string) (text string, t *Table, err error) {
	t = &Table{}
	text, err = readComment(comment, func(v value) {
		o := v.object("privacy_unit", "max_rows_per_unit", "max_rows")
		if o.has("privacy_unit") {
			readUnit(o, t)
		}
		t.MaxRowsPerUnit = o.get("max_rows_per_unit").count(0, maxRowsPerUnit)
		t.MaxRows, _ = o.get("max_rows").integer(1, maxTableRows)
	})
	return text, t, err
}

// readComment has the keys of a comment read, and returns them on one line.
func readComment(comment string, read func(value)) (string, error) {
	found := commented.FindStringSubmatch(comment)
	if found == nil {
		return "", nil
	}
	w := &walker{file: "comment", places: map[string]place{}}
	if len(found[1]) > maxComment {
		return "", Errors{{File: w.file, Message: "is too long"}}
	}
	root, ok := w.document([]byte(found[1]))
	if ok {
		read(root)
	}
	if len(w.problems) > 0 {
		return "", w.problems
	}
	var out bytes.Buffer
	if err := yaml.NewEncoder(&out).Encode(onOneLine(root.node)); err != nil {
		return "", err
	}
	return strings.TrimSpace(out.String()), nil
}

// onOneLine copies a tree without what needs lines of its own: comments, anchors and blocks.
func onOneLine(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	c := &yaml.Node{Kind: n.Kind, Tag: n.Tag, Value: n.Value}
	switch {
	case n.Kind != yaml.ScalarNode:
		c.Style = yaml.FlowStyle
	case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		c.Style = yaml.DoubleQuotedStyle
	}
	for _, child := range n.Content {
		c.Content = append(c.Content, onOneLine(child))
	}
	return c
}
