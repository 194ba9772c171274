package sqltree

import (
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/dpproxy/dpproxy/internal/refusal"
)

// KnownNodes lists the node types that may occur anywhere in a private statement, by their name in the grammar's
// protobuf. Below an aggregate, expr and the binder know fewer still; above, catalog checks every name. Anything else
// is refused before the statement is looked at any further, also what a later grammar may bring.
var KnownNodes = map[protoreflect.Name]bool{
	"a_array_expr": true, "a_const": true, "a_expr": true, "a_indices": true, "a_indirection": true, "a_star": true,
	"bool_expr": true, "boolean": true,
	"boolean_test": true, "case_expr": true, "case_when": true, "coalesce_expr": true, "collate_clause": true,
	"column_ref": true, "common_table_expr": true,
	"float": true, "func_call": true, "grouping_func": true, "grouping_set": true, "integer": true, "join_expr": true,
	"list": true, "locking_clause": true,
	"min_max_expr": true, "named_arg_expr": true, "null_test": true, "param_ref": true, "range_function": true,
	"range_subselect":    true,
	"range_table_sample": true, "range_var": true, "res_target": true, "row_expr": true, "select_stmt": true,
	"sort_by": true, "sqlvalue_function": true,
	"string": true, "sub_link": true, "type_cast": true, "type_name": true, "window_def": true,
}

// RefuseUnknown refuses a statement that holds a node type which the analysis does not know.
func RefuseUnknown(t Text, n *pg_query.Node) error {
	var failed error
	Visit(n, func(n *pg_query.Node) bool {
		m := n.ProtoReflect()
		field := m.WhichOneof(m.Descriptor().Oneofs().Get(0))
		if failed != nil || field == nil || KnownNodes[field.Name()] {
			return failed == nil
		}
		if strings.HasSuffix(string(field.Name()), "_stmt") {
			failed = t.Refuse(refusal.ReadOnly, n, "permission denied: dpproxy is read-only", "")
		} else {
			failed = t.Refuse(refusal.Construct, n, string(field.Message().Name())+" is not supported over private tables", "")
		}
		return false
	})
	return failed
}
