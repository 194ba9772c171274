package catalog

import (
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"
)

// identifier reads one identifier token as PostgreSQL does: unquoted ones fold to lower case (ASCII only in UTF-8
// databases), quoted ones keep theirs, at most 63 bytes. Unicode-escaped identifiers yield "", which is no name.
func identifier(token string) string {
	if token == "" {
		return ""
	}
	if token[0] == '"' {
		if len(token) < 2 || token[len(token)-1] != '"' {
			return ""
		}
		return strings.ReplaceAll(token[1:len(token)-1], `""`, `"`)
	}
	if len(token) > 1 && (token[0] == 'U' || token[0] == 'u') && token[1] == '&' {
		return ""
	}
	b := []byte(token)
	for i, ch := range b {
		if 'A' <= ch && ch <= 'Z' {
			b[i] = ch + 'a' - 'A'
		}
	}
	return string(b)
}

// stringsOf reads a list of String nodes, such as a qualified name; nil if it holds anything else.
func stringsOf(nodes []*pg_query.Node) []string {
	out := make([]string, 0, len(nodes))
	for _, n := range nodes {
		s := n.GetString_()
		if s == nil {
			return nil
		}
		out = append(out, s.Sval)
	}
	return out
}

func stringNode(s string) *pg_query.Node {
	return &pg_query.Node{Node: &pg_query.Node_String_{String_: &pg_query.String{Sval: s}}}
}

// constantString reads a string literal, with or without a cast to a string type.
func constantString(n *pg_query.Node) (string, bool) {
	if t := n.GetTypeCast(); t != nil {
		names := stringsOf(t.GetTypeName().GetNames())
		if len(names) == 0 {
			return "", false
		}
		switch names[len(names)-1] {
		case "text", "varchar", "bpchar", "name", "unknown":
			return constantString(t.GetArg())
		}
		return "", false
	}
	if k := n.GetAConst(); k != nil && k.GetSval() != nil {
		return k.GetSval().Sval, true
	}
	return "", false
}
