package rewrite

import (
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Tree helpers: the parser's nodes are protobuf messages, so one reflective walk serves every node type.

// clone copies a tree, so that a cached statement is never changed.
func clone[M proto.Message](m M) M { return proto.Clone(m).(M) }

// rewriteNodes replaces nodes below m, top down: f returns the replacement and whether to go on below it.
func rewriteNodes(m protoreflect.Message, f func(*pg_query.Node) (*pg_query.Node, bool, error)) error {
	var failed error
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if fd.Kind() != protoreflect.MessageKind {
			return true
		}
		if !fd.IsList() {
			failed = rewriteField(v.Message(), func(n *pg_query.Node) { m.Set(fd, protoreflect.ValueOfMessage(n.ProtoReflect())) }, f)
			return failed == nil
		}
		list := v.List()
		for i := 0; i < list.Len(); i++ {
			if failed = rewriteField(list.Get(i).Message(), func(n *pg_query.Node) { list.Set(i, protoreflect.ValueOfMessage(n.ProtoReflect())) }, f); failed != nil {
				return false
			}
		}
		return true
	})
	return failed
}

func rewriteField(m protoreflect.Message, set func(*pg_query.Node), f func(*pg_query.Node) (*pg_query.Node, bool, error)) error {
	n, isNode := m.Interface().(*pg_query.Node)
	if !isNode {
		return rewriteNodes(m, f)
	}
	replacement, below, err := f(n)
	if err != nil {
		return err
	}
	if replacement != n {
		set(replacement)
	}
	if !below {
		return nil
	}
	return rewriteNodes(replacement.ProtoReflect(), f)
}

// rewriteNode is rewriteNodes for a tree whose root may be replaced itself.
func rewriteNode(n *pg_query.Node, f func(*pg_query.Node) (*pg_query.Node, bool, error)) (*pg_query.Node, error) {
	if n == nil {
		return nil, nil
	}
	root := n
	err := rewriteField(n.ProtoReflect(), func(r *pg_query.Node) { root = r }, f)
	return root, err
}

// visit calls f for every node, top down; f says whether to go on below.
func visit(n *pg_query.Node, f func(*pg_query.Node) bool) {
	if n == nil {
		return
	}
	_, err := rewriteNode(n, func(n *pg_query.Node) (*pg_query.Node, bool, error) { return n, f(n), nil })
	if err != nil {
		panic(err) // the callback gives none
	}
}

// treeKey is equal for trees that differ in locations only.
func treeKey(m proto.Message) string {
	c := proto.Clone(m)
	stripLocations(c.ProtoReflect())
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(c)
	if err != nil {
		panic(err) // a tree that was parsed can be marshalled
	}
	return string(b)
}

// locations names the fields that hold offsets into the text.
var locations = map[protoreflect.Name]bool{"location": true, "stmt_location": true, "stmt_len": true}

func stripLocations(m protoreflect.Message) {
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case locations[fd.Name()]:
			m.Clear(fd)
		case fd.Kind() != protoreflect.MessageKind:
		case fd.IsList():
			for i := 0; i < v.List().Len(); i++ {
				stripLocations(v.List().Get(i).Message())
			}
		default:
			stripLocations(v.Message())
		}
		return true
	})
}

// locationOf finds the leftmost byte offset in a tree; -1 when it has none.
func locationOf(n *pg_query.Node) int {
	if n == nil {
		return -1
	}
	best := -1
	var walk func(m protoreflect.Message)
	walk = func(m protoreflect.Message) {
		m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			switch {
			case fd.Name() == "location":
				if l := int(v.Int()); l >= 0 && (best < 0 || l < best) {
					best = l
				}
			case fd.Kind() != protoreflect.MessageKind:
			case fd.IsList():
				for i := 0; i < v.List().Len(); i++ {
					walk(v.List().Get(i).Message())
				}
			default:
				walk(v.Message())
			}
			return true
		})
	}
	walk(n.ProtoReflect())
	return best
}

// stringList returns the texts of a list of String nodes.
func stringList(nodes []*pg_query.Node) []string {
	texts := make([]string, 0, len(nodes))
	for _, n := range nodes {
		texts = append(texts, n.GetString_().GetSval())
	}
	return texts
}

// columnRef makes a reference table.column.
func columnRef(table, column string) *pg_query.Node {
	return &pg_query.Node{Node: &pg_query.Node_ColumnRef{ColumnRef: &pg_query.ColumnRef{
		Fields: []*pg_query.Node{pg_query.MakeStrNode(table), pg_query.MakeStrNode(column)},
	}}}
}

// outputName is the name that PostgreSQL gives a result column (parse_target.c, FigureColname).
func outputName(t *pg_query.ResTarget) string {
	if t.Name != "" {
		return t.Name
	}
	if name, _ := figureName(t.Val); name != "" {
		return name
	}
	return "?column?"
}

// figureName returns a name and its strength: 2 sure, 1 second choice, 0 none.
func figureName(n *pg_query.Node) (string, int) {
	switch v := n.GetNode().(type) {
	case *pg_query.Node_ColumnRef:
		for i := len(v.ColumnRef.Fields) - 1; i >= 0; i-- {
			if s := v.ColumnRef.Fields[i].GetString_(); s != nil {
				return s.Sval, 2
			}
		}
	case *pg_query.Node_AIndirection:
		for i := len(v.AIndirection.Indirection) - 1; i >= 0; i-- {
			if s := v.AIndirection.Indirection[i].GetString_(); s != nil {
				return s.Sval, 2
			}
		}
		return figureName(v.AIndirection.Arg)
	case *pg_query.Node_FuncCall:
		return v.FuncCall.Funcname[len(v.FuncCall.Funcname)-1].GetString_().GetSval(), 2
	case *pg_query.Node_AExpr:
		if v.AExpr.Kind == pg_query.A_Expr_Kind_AEXPR_NULLIF {
			return "nullif", 2
		}
	case *pg_query.Node_TypeCast:
		name, strength := figureName(v.TypeCast.Arg)
		if strength <= 1 && v.TypeCast.TypeName != nil {
			names := v.TypeCast.TypeName.Names
			return names[len(names)-1].GetString_().GetSval(), 1
		}
		return name, strength
	case *pg_query.Node_CollateClause:
		return figureName(v.CollateClause.Arg)
	case *pg_query.Node_GroupingFunc:
		return "grouping", 2
	case *pg_query.Node_SubLink:
		return figureSubLink(v.SubLink)
	case *pg_query.Node_CaseExpr:
		name, strength := figureName(v.CaseExpr.Defresult)
		if strength <= 1 {
			return "case", 1
		}
		return name, strength
	case *pg_query.Node_AArrayExpr:
		return "array", 2
	case *pg_query.Node_RowExpr:
		return "row", 2
	case *pg_query.Node_CoalesceExpr:
		return "coalesce", 2
	case *pg_query.Node_MinMaxExpr:
		if v.MinMaxExpr.Op == pg_query.MinMaxOp_IS_GREATEST {
			return "greatest", 2
		}
		return "least", 2
	case *pg_query.Node_SqlvalueFunction:
		name := strings.ToLower(strings.TrimPrefix(v.SqlvalueFunction.Op.String(), "SVFOP_"))
		return strings.TrimSuffix(name, "_n"), 2
	}
	return "", 0
}

func figureSubLink(s *pg_query.SubLink) (string, int) {
	switch s.SubLinkType {
	case pg_query.SubLinkType_EXISTS_SUBLINK:
		return "exists", 2
	case pg_query.SubLinkType_ARRAY_SUBLINK:
		return "array", 2
	case pg_query.SubLinkType_EXPR_SUBLINK:
		if sel := s.Subselect.GetSelectStmt(); sel != nil && len(sel.TargetList) > 0 {
			t := sel.TargetList[0].GetResTarget()
			if t.Name != "" {
				return t.Name, 2
			}
			return figureName(t.Val)
		}
	}
	return "", 0
}
