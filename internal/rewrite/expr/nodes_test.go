package expr

import (
	"testing"

	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// known are the parse nodes that Build has rules for. Everything else in the grammar must be refused.
var known = map[string]bool{
	"a_const": true, "column_ref": true, "param_ref": true, "a_expr": true, "bool_expr": true, "null_test": true,
	"boolean_test": true,
	"case_expr":    true, "coalesce_expr": true, "min_max_expr": true, "type_cast": true, "func_call": true,
	"collate_clause":    true,
	"sqlvalue_function": true, "a_array_expr": true, "sub_link": true,
}

// TestNodes walks every node type of the grammar, empty: unknown ones are refused, and no one makes Build panic.
func TestNodes(t *testing.T) {
	scope := offlineScope(t)
	fields := (&pg_query.Node{}).ProtoReflect().Descriptor().Oneofs().ByName("node").Fields()
	if fields.Len() < 200 {
		t.Fatalf("the grammar has %d node types only", fields.Len())
	}
	for i := range fields.Len() {
		field := fields.Get(i)
		n := &pg_query.Node{}
		m := n.ProtoReflect()
		m.Set(field, m.NewField(field))
		e, err := Build(n, scope)
		if err == nil && !known[string(field.Name())] {
			t.Errorf("%s is accepted as %s", field.Name(), sqlOf(e))
		}
		if _, err := BuildBoolean(n, scope); err == nil && !known[string(field.Name())] {
			t.Errorf("%s is accepted as a condition", field.Name())
		}
	}
	if _, err := Build(nil, scope); err == nil {
		t.Error("nothing is accepted")
	}
}

// TestEnumsOfNodes gives known nodes every value of their enums: kinds of operators and functions that are not known
// are refused.
func TestEnumsOfNodes(t *testing.T) {
	scope := offlineScope(t)
	for _, text := range []string{
		"age = 1", "b AND nb", "age IS NULL", "b IS TRUE", "GREATEST(age, 1)", "CURRENT_DATE",
		"age IN (1, 2)", "age BETWEEN 1 AND 2", "NULLIF(age, 1)",
	} {
		node := parseExpr(t, text)
		m := node.ProtoReflect()
		inner := m.Get(m.WhichOneof(m.Descriptor().Oneofs().ByName("node"))).Message()
		for i := range inner.Descriptor().Fields().Len() {
			field := inner.Descriptor().Fields().Get(i)
			if field.Kind() != protoreflect.EnumKind {
				continue
			}
			before := inner.Get(field)
			for j := range field.Enum().Values().Len() {
				inner.Set(field, protoreflect.ValueOfEnum(field.Enum().Values().Get(j).Number()))
				Build(node, scope) // must not panic; what it accepts, other tests evaluate
			}
			inner.Set(field, protoreflect.ValueOfEnum(9999))
			if e, err := Build(node, scope); err == nil {
				t.Errorf("%s with an unknown %s is accepted as %s", text, field.Name(), sqlOf(e))
			}
			inner.Set(field, before)
		}
	}
}
