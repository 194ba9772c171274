package catalog

import pg_query "github.com/pganalyze/pg_query_go/v6"

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
