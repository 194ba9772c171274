package catalog

import (
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// Localize takes the client's database from the names in a statement (clinic.public.wards, clinic.public.wards.ward),
// so that the shadow, which has another name, may check the text. Other databases' names stay: PostgreSQL refuses them.
// The text comes back as it is where there is nothing to take away; the rest of it stays letter for letter, and what is
// left parses to the tree that is meant.
func Localize(stmt *pg_query.Node, text, database string) (string, error) {
	tree := sqltree.Clone(stmt)
	qualifiers := map[int32]bool{} // byte offsets of the database's name
	localize(tree.ProtoReflect(), database, qualifiers)
	if len(qualifiers) == 0 {
		return text, nil
	}
	scan, err := pg_query.Scan(text)
	if err != nil {
		return "", errNotEditable()
	}
	tokens := slices.DeleteFunc(scan.Tokens, func(t *pg_query.ScanToken) bool {
		return t.Token == pg_query.Token_SQL_COMMENT || t.Token == pg_query.Token_C_COMMENT
	})
	local, from := "", int32(0)
	for i, t := range tokens {
		if qualifiers[t.Start] && i+2 < len(tokens) { // the name, a dot, what stays
			local += text[from:t.Start]
			from = tokens[i+2].Start
		}
	}
	local += text[from:]
	again, err := pg_query.Parse(local)
	if err != nil || len(again.Stmts) != 1 || sqltree.TreeKey(again.Stmts[0].Stmt) != sqltree.TreeKey(tree) {
		return "", errNotEditable()
	}
	return local, nil
}

// localize takes the database from the names of a tree, and notes where they stand.
func localize(m protoreflect.Message, database string, at map[int32]bool) {
	switch x := m.Interface().(type) {
	case *pg_query.RangeVar:
		if x.Catalogname != "" && x.Catalogname == database {
			x.Catalogname = ""
			at[x.Location] = true
		}
	case *pg_query.ColumnRef:
		if len(x.Fields) == 4 && x.Fields[0].GetString_().GetSval() == database {
			x.Fields = x.Fields[1:]
			at[x.Location] = true
		}
	}
	below(m, func(m protoreflect.Message) { localize(m, database, at) })
}
