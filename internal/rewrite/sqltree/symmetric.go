package sqltree

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Looker writes the sum of one table's column over the rows of a join, where the join repeats that table's rows, as a
// symmetric aggregate: the sum of distinct numbers that a hash of the table's key makes different, less the sum of the
// distinct hashes. What it means is the sum of floor(10^6 · x) over distinct keys.

// Millionths is what a symmetric aggregate counts in.
const Millionths = 1000000

// byKey names the call that stands for a symmetric aggregate. No client can write it: the shadow has prepared the text.
const byKey = "dpproxy_sum_by_key"

// hash is what Looker makes of a key for PostgreSQL. Its versions differ in the digits of the numeric.
const hash = "('x' || MD5(dp_key::varchar))::bit(64)::bigint::DECIMAL * 18446744073709551616 + ('x' || SUBSTR(MD5(dp_key::varchar), 17))::bit(64)::bigint::DECIMAL"

// symmetricForm is the difference that Looker writes, over dp_x and dp_key.
var symmetricForm = func() *pg_query.Node {
	tree, err := pg_query.Parse("SELECT SUM(DISTINCT (CAST(FLOOR(COALESCE(dp_x, 0) * (1000000*1.0)) AS DECIMAL)) + " +
		hash + ") - SUM(DISTINCT " + hash + ")")
	if err != nil {
		panic(err) // it is ours
	}
	return tree.Stmts[0].Stmt.GetSelectStmt().TargetList[0].GetResTarget().Val
}()

// SymmetricSum reads a symmetric aggregate as one call; nil for anything else.
func SymmetricSum(n *pg_query.Node) *pg_query.Node {
	if n.GetAExpr().GetLexpr().GetFuncCall() == nil {
		return nil
	}
	found := map[string]*pg_query.Node{}
	if !matches(symmetricForm.ProtoReflect(), n.ProtoReflect(), found) {
		return nil
	}
	return &pg_query.Node{Node: &pg_query.Node_FuncCall{FuncCall: &pg_query.FuncCall{
		Funcname: []*pg_query.Node{pg_query.MakeStrNode(byKey)}, Args: []*pg_query.Node{found["dp_x"], found["dp_key"]},
		Location: n.GetAExpr().Location,
	}}}
}

// ByKey returns the argument and the key of a call that SymmetricSum made; nil for any other.
func ByKey(f *pg_query.FuncCall) (x, key *pg_query.Node) {
	if FunctionName(f) != byKey {
		return nil, nil
	}
	return f.Args[0], f.Args[1]
}

// matches compares a tree with a form, whose columns stand for any expression, the same wherever one occurs again.
func matches(form, of protoreflect.Message, found map[string]*pg_query.Node) bool {
	if hole, ok := form.Interface().(*pg_query.Node); ok && hole.GetColumnRef() != nil {
		name, n := hole.GetColumnRef().Fields[0].GetString_().GetSval(), of.Interface().(*pg_query.Node)
		if first := found[name]; first != nil {
			return TreeKey(first) == TreeKey(n)
		}
		found[name] = n
		return n.GetNode() != nil
	}
	t, named := form.Interface().(*pg_query.TypeName)
	numeric := named && StringList(t.Names)[len(t.Names)-1] == "numeric"
	fields := form.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		if locations[fd.Name()] || numeric && fd.Name() == "typmods" {
			continue
		}
		if form.Has(fd) != of.Has(fd) || form.Has(fd) && !sameField(fd, form.Get(fd), of.Get(fd), found) {
			return false
		}
	}
	return true
}

func sameField(fd protoreflect.FieldDescriptor, form, of protoreflect.Value, found map[string]*pg_query.Node) bool {
	switch {
	case fd.Kind() != protoreflect.MessageKind:
		return form.Equal(of)
	case !fd.IsList():
		return matches(form.Message(), of.Message(), found)
	}
	if form.List().Len() != of.List().Len() {
		return false
	}
	for i := range form.List().Len() {
		if !matches(form.List().Get(i).Message(), of.List().Get(i).Message(), found) {
			return false
		}
	}
	return true
}
