package sqltree

import (
	"cmp"
	"slices"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Tree helpers: the parser's nodes are protobuf messages, so one reflective walk serves every node type.

// Clone copies a tree, so that a cached statement is never changed.
func Clone[M proto.Message](m M) M { return proto.Clone(m).(M) }

// RewriteNodes replaces nodes below m, top down and in the order of the parser's fields: f returns the replacement and
// whether to go on below it.
func RewriteNodes(m protoreflect.Message, f func(*pg_query.Node) (*pg_query.Node, bool, error)) error {
	for _, fd := range messageFields(m) {
		if !fd.IsList() {
			set := func(n *pg_query.Node) { m.Set(fd, protoreflect.ValueOfMessage(n.ProtoReflect())) }
			if err := rewriteField(m.Get(fd).Message(), set, f); err != nil {
				return err
			}
			continue
		}
		list := m.Get(fd).List()
		for i := range list.Len() {
			set := func(n *pg_query.Node) { list.Set(i, protoreflect.ValueOfMessage(n.ProtoReflect())) }
			if err := rewriteField(list.Get(i).Message(), set, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// messageFields are the fields of m that hold messages, by number: Range has an order that differs from build to build,
// and what is numbered on the way is printed.
func messageFields(m protoreflect.Message) []protoreflect.FieldDescriptor {
	var fields []protoreflect.FieldDescriptor
	m.Range(func(fd protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		if fd.Kind() == protoreflect.MessageKind {
			fields = append(fields, fd)
		}
		return true
	})
	slices.SortFunc(fields, func(a, b protoreflect.FieldDescriptor) int { return cmp.Compare(a.Number(), b.Number()) })
	return fields
}

func rewriteField(m protoreflect.Message, set func(*pg_query.Node), f func(*pg_query.Node) (*pg_query.Node, bool,
	error),
) error {
	n, isNode := m.Interface().(*pg_query.Node)
	if !isNode {
		return RewriteNodes(m, f)
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
	return RewriteNodes(replacement.ProtoReflect(), f)
}

// RewriteNode does what RewriteNodes does, for a tree whose root may be replaced itself.
func RewriteNode(n *pg_query.Node, f func(*pg_query.Node) (*pg_query.Node, bool, error)) (*pg_query.Node, error) {
	if n == nil {
		return nil, nil
	}
	root := n
	err := rewriteField(n.ProtoReflect(), func(r *pg_query.Node) { root = r }, f)
	return root, err
}

// Replace is RewriteNode for what cannot fail; an empty node stays as it is.
func Replace(n *pg_query.Node, f func(*pg_query.Node) (*pg_query.Node, bool)) *pg_query.Node {
	if n.GetNode() == nil {
		return n
	}
	out, err := RewriteNode(n, func(n *pg_query.Node) (*pg_query.Node, bool, error) {
		x, below := f(n)
		return x, below, nil
	})
	if err != nil {
		panic(err) // the callback gives none
	}
	return out
}

// Visit calls f for every node, top down; f says whether to go on below.
func Visit(n *pg_query.Node, f func(*pg_query.Node) bool) {
	Replace(n, func(n *pg_query.Node) (*pg_query.Node, bool) { return n, f(n) })
}

// Any reports whether a node of a tree is so.
func Any(n *pg_query.Node, is func(*pg_query.Node) bool) (found bool) {
	Visit(n, func(n *pg_query.Node) bool {
		found = found || is(n)
		return !found
	})
	return found
}

// AnyOutside reports whether a node of a tree is so, where nodes within subqueries do not count.
func AnyOutside(n *pg_query.Node, is func(*pg_query.Node) bool) (found bool) {
	Visit(n, func(n *pg_query.Node) bool {
		found = found || is(n)
		return !found && n.GetSubLink() == nil
	})
	return found
}

// Operator gives an operator's name without its schema; "" for any other node.
func Operator(n *pg_query.Node) string {
	if a := n.GetAExpr(); a.GetKind() == pg_query.A_Expr_Kind_AEXPR_OP {
		return a.Name[len(a.Name)-1].GetString_().GetSval()
	}
	return ""
}

// Equality returns both sides of a = b; nil for any other node.
func Equality(n *pg_query.Node) []*pg_query.Node {
	if a := n.GetAExpr(); Operator(n) == "=" && len(a.Name) == 1 {
		return []*pg_query.Node{a.Lexpr, a.Rexpr}
	}
	return nil
}

// Star reports whether a node is * or table.*.
func Star(n *pg_query.Node) bool {
	fields := n.GetColumnRef().GetFields()
	return len(fields) > 0 && fields[len(fields)-1].GetAStar() != nil
}

// TreeKey returns a text that is equal for trees that differ in locations only.
func TreeKey(m proto.Message) string {
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

// eachField calls f for every field of a tree that holds no node.
func eachField(m protoreflect.Message, f func(protoreflect.FieldDescriptor, protoreflect.Value)) {
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.Kind() != protoreflect.MessageKind:
			f(fd, v)
		case fd.IsList():
			for i := range v.List().Len() {
				eachField(v.List().Get(i).Message(), f)
			}
		default:
			eachField(v.Message(), f)
		}
		return true
	})
}

// Mentions reports whether a text occurs in a name or a constant anywhere in a tree, in upper or lower case.
func Mentions(n *pg_query.Node, text string) bool {
	found := false
	eachField(n.ProtoReflect(), func(fd protoreflect.FieldDescriptor, v protoreflect.Value) {
		if fd.Kind() == protoreflect.StringKind && !fd.IsList() {
			found = found || strings.Contains(strings.ToLower(v.String()), text)
		}
	})
	return found
}

// LocationOf finds the leftmost byte offset in a tree; -1 when it has none.
func LocationOf(n *pg_query.Node) int {
	if n == nil {
		return -1
	}
	best := -1
	eachField(n.ProtoReflect(), func(fd protoreflect.FieldDescriptor, v protoreflect.Value) {
		if fd.Name() == "location" && v.Int() >= 0 && (best < 0 || int(v.Int()) < best) {
			best = int(v.Int())
		}
	})
	return best
}

// StringList returns the texts of a list of String nodes.
func StringList(nodes []*pg_query.Node) []string {
	texts := make([]string, 0, len(nodes))
	for _, n := range nodes {
		texts = append(texts, n.GetString_().GetSval())
	}
	return texts
}

// ColumnRef makes a reference table.column.
func ColumnRef(table, column string) *pg_query.Node {
	return &pg_query.Node{Node: &pg_query.Node_ColumnRef{ColumnRef: &pg_query.ColumnRef{
		Fields: []*pg_query.Node{pg_query.MakeStrNode(table), pg_query.MakeStrNode(column)},
	}}}
}

// AllColumns makes *.
func AllColumns() *pg_query.Node {
	star := &pg_query.Node{Node: &pg_query.Node_AStar{AStar: &pg_query.A_Star{}}}
	return &pg_query.Node{Node: &pg_query.Node_ColumnRef{ColumnRef: &pg_query.ColumnRef{Fields: []*pg_query.Node{star}}}}
}

// FirstTarget returns the first output of a query, as a place for an error; nil where it has none.
func FirstTarget(s *pg_query.SelectStmt) *pg_query.Node {
	for s.Op != pg_query.SetOperation_SETOP_NONE {
		s = s.Larg
	}
	if len(s.TargetList) > 0 {
		return s.TargetList[0]
	}
	return nil
}

// RewriteEach replaces every node of a list.
func RewriteEach(list []*pg_query.Node, f func(*pg_query.Node) (*pg_query.Node, error)) error {
	for i, n := range list {
		if n.GetNode() == nil {
			continue // DISTINCT without ON is a list of one empty node
		}
		r, err := f(n)
		if err != nil {
			return err
		}
		list[i] = r
	}
	return nil
}

// Conjuncts splits a condition at its top-level ANDs, and at the columns of rows that are equated.
func Conjuncts(n *pg_query.Node) []*pg_query.Node {
	if n == nil {
		return nil
	}
	if e := n.GetBoolExpr(); e != nil && e.Boolop == pg_query.BoolExprType_AND_EXPR {
		var all []*pg_query.Node
		for _, a := range e.Args {
			all = append(all, Conjuncts(a)...)
		}
		return all
	}
	if pairs := rowEquality(n); pairs != nil {
		return pairs
	}
	if common := repeated(n); common != nil {
		return common
	}
	return []*pg_query.Node{n}
}

// repeated takes the conditions that every arm of an OR repeats out of it, as PostgreSQL does (prepqual.c): (a AND b)
// OR (a AND c) is a AND (b OR c), for every value of NULL too. nil where there are none.
func repeated(n *pg_query.Node) []*pg_query.Node {
	or := n.GetBoolExpr()
	if or == nil || or.Boolop != pg_query.BoolExprType_OR_EXPR {
		return nil
	}
	arms, in := make([][]*pg_query.Node, len(or.Args)), map[string]int{}
	for i, a := range or.Args {
		arms[i] = Conjuncts(a)
		seen := map[string]bool{}
		for _, q := range arms[i] {
			if key := TreeKey(q); !seen[key] {
				seen[key] = true
				in[key]++
			}
		}
	}
	everywhere := func(q *pg_query.Node) bool { return in[TreeKey(q)] == len(arms) }
	var common []*pg_query.Node
	taken := map[string]bool{}
	for _, q := range arms[0] {
		if key := TreeKey(q); everywhere(q) && !taken[key] {
			taken[key], common = true, append(common, q)
		}
	}
	if common == nil {
		return nil
	}
	left := &pg_query.BoolExpr{Boolop: or.Boolop, Location: or.Location}
	for _, arm := range arms {
		rest := slices.DeleteFunc(slices.Clone(arm), everywhere)
		switch len(rest) {
		case 0:
			return common // the arm holds wherever they do
		case 1:
			left.Args = append(left.Args, rest[0])
		default:
			left.Args = append(left.Args, &pg_query.Node{Node: &pg_query.Node_BoolExpr{
				BoolExpr: &pg_query.BoolExpr{Boolop: pg_query.BoolExprType_AND_EXPR, Args: rest, Location: or.Location},
			}})
		}
	}
	return append(common, &pg_query.Node{Node: &pg_query.Node_BoolExpr{BoolExpr: left}})
}

// rowEquality gives a = c and b = d for (a, b) = (c, d), which PostgreSQL reads as their conjunction
// (make_row_comparison_op); nil for anything else. A row in a row is one value and stays, and so does a star, which is
// several.
func rowEquality(n *pg_query.Node) []*pg_query.Node {
	a := n.GetAExpr()
	if a == nil || a.Kind != pg_query.A_Expr_Kind_AEXPR_OP || len(a.Name) != 1 || a.Name[0].GetString_().GetSval() != "=" {
		return nil
	}
	left, right := a.Lexpr.GetRowExpr().GetArgs(), a.Rexpr.GetRowExpr().GetArgs()
	if len(left) != len(right) || slices.ContainsFunc(slices.Concat(left, right), severalValues) {
		return nil
	}
	var pairs []*pg_query.Node
	for i := range left {
		pairs = append(pairs, &pg_query.Node{Node: &pg_query.Node_AExpr{
			AExpr: &pg_query.A_Expr{Kind: a.Kind, Name: a.Name, Lexpr: left[i], Rexpr: right[i], Location: a.Location},
		}})
	}
	return pairs
}

// severalValues reports whether a row's item is a row or a star.
func severalValues(n *pg_query.Node) bool {
	ref := n.GetColumnRef()
	return n.GetRowExpr() != nil || ref != nil && ref.Fields[len(ref.Fields)-1].GetAStar() != nil
}

// ConstantNode reports whether a node is a constant or a parameter, or a cast of one.
func ConstantNode(n *pg_query.Node) bool {
	if c := n.GetTypeCast(); c != nil {
		return ConstantNode(c.Arg)
	}
	return n.GetAConst() != nil || n.GetParamRef() != nil
}
