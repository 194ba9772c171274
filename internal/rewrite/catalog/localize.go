package catalog

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Localize takes the client's database from the names in a statement (clinic.public.wards, clinic.public.wards.ward), so
// that the shadow, which has another name, may check the text. Other databases' names stay: PostgreSQL refuses them. The
// text comes back as it is where there is nothing to take away.
func Localize(stmt *pg_query.Node, text, database string) (string, error) {
	tree := proto.Clone(stmt).(*pg_query.Node)
	ed, err := newEditor(text)
	if err != nil {
		return "", err
	}
	if err := localize(tree.ProtoReflect(), ed, database); err != nil {
		return "", err
	}
	return ed.finish(tree)
}

func localize(m protoreflect.Message, ed *editor, database string) (err error) {
	switch x := m.Interface().(type) {
	case *pg_query.RangeVar:
		if x.Catalogname != "" && x.Catalogname == database {
			x.Catalogname = ""
			err = ed.dropQualifier(int(x.Location), database)
		}
	case *pg_query.ColumnRef:
		if len(x.Fields) == 4 && x.Fields[0].GetString_().GetSval() == database {
			x.Fields = x.Fields[1:]
			err = ed.dropQualifier(int(x.Location), database)
		}
	}
	if err != nil {
		return err
	}
	below(m, func(m protoreflect.Message) {
		if err == nil {
			err = localize(m, ed, database)
		}
	})
	return err
}

// dropQualifier takes a name and the dot behind it from the text.
func (e *editor) dropQualifier(offset int, name string) error {
	i, ok := e.at[offset]
	if !ok || i+2 >= len(e.tokens) || identifier(e.textOf(i)) != name || e.tokens[i+1].Token != pg_query.Token_ASCII_46 {
		return errNotEditable()
	}
	e.replace(offset, e.startOf(offset, 1), "")
	return nil
}
