package certify

import (
	"fmt"
	"math/big"
	"reflect"
	"strings"
	"sync"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// text is a node without the places where it stands: two nodes of one text are one expression.
func text(n any) string { return textWith(n, nil) }

// textWith is text with some nodes spelled in another way.
func textWith(n any, spell func(any) string) string {
	var b strings.Builder
	write(&b, reflect.ValueOf(n), spell)
	return b.String()
}

func write(b *strings.Builder, v reflect.Value, spell func(any) string) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return
		}
		if spell != nil && v.Kind() == reflect.Pointer {
			if s := spell(v.Interface()); s != "" {
				b.WriteString(s)
				return
			}
		}
		write(b, v.Elem(), spell)
	case reflect.Struct:
		b.WriteString(v.Type().Name())
		b.WriteByte('{')
		for _, i := range fieldsOf(v.Type()) {
			if !v.Field(i).IsZero() {
				b.WriteString(v.Type().Field(i).Name)
				b.WriteByte(':')
				write(b, v.Field(i), spell)
				b.WriteByte(' ')
			}
		}
		b.WriteByte('}')
	case reflect.Slice:
		b.WriteByte('[')
		for i := range v.Len() {
			write(b, v.Index(i), spell)
			b.WriteByte(',')
		}
		b.WriteByte(']')
	case reflect.String:
		fmt.Fprintf(b, "%q", v.String())
	default:
		fmt.Fprintf(b, "%v", v.Interface())
	}
}

// compared are the fields of a node that make it what it is: not the place where it stands.
var compared sync.Map // of reflect.Type to []int

func fieldsOf(t reflect.Type) []int {
	if f, ok := compared.Load(t); ok {
		return f.([]int)
	}
	var list []int
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() && f.Name != "Location" {
			list = append(list, i)
		}
	}
	compared.Store(t, list)
	return list
}

// same reports whether two nodes are one expression.
func same(a, b *pg.Node) bool { return holes(nil).match(reflect.ValueOf(a), reflect.ValueOf(b)) }

// holes are what the names _x of a form stand for in an expression.
type holes map[string]*pg.Node

// form is an expression with holes: columns whose name begins with _, which stand for any expression, the same wherever
// the same name stands.
type form struct{ node *pg.Node }

// newForm parses a form.
func newForm(sql string) form {
	tree, err := pg.Parse("SELECT " + sql)
	if err != nil {
		panic("certify: form " + sql + ": " + err.Error())
	}
	return form{tree.Stmts[0].Stmt.GetSelectStmt().TargetList[0].GetResTarget().Val}
}

// of finds what the holes of the form are in an expression, or nil.
func (f form) of(n *pg.Node) holes {
	h := holes{}
	if !h.match(reflect.ValueOf(f.node), reflect.ValueOf(n)) {
		return nil
	}
	return h
}

// match compares two nodes, or parts of them; without holes, none has one.
func (h holes) match(f, n reflect.Value) bool {
	if f.Kind() != n.Kind() || f.Type() != n.Type() {
		return false
	}
	switch f.Kind() {
	case reflect.Pointer, reflect.Interface:
		if f.IsNil() || n.IsNil() {
			return f.IsNil() == n.IsNil()
		}
		if node, ok := f.Interface().(*pg.Node); ok && h != nil {
			if name := columnName(node); strings.HasPrefix(name, "_") {
				found := n.Interface().(*pg.Node)
				if h[name] == nil {
					h[name] = found
				}
				return same(h[name], found)
			}
		}
		return h.match(f.Elem(), n.Elem())
	case reflect.Struct:
		for _, i := range fieldsOf(f.Type()) {
			if !h.match(f.Field(i), n.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Slice:
		if f.Len() != n.Len() {
			return false
		}
		for i := range f.Len() {
			if !h.match(f.Index(i), n.Index(i)) {
				return false
			}
		}
		return true
	default:
		return f.Equal(n)
	}
}

// columnName is the name of a column without table, or "".
func columnName(n *pg.Node) string {
	if f := n.GetColumnRef().GetFields(); len(f) == 1 {
		return f[0].GetString_().GetSval()
	}
	return ""
}

// name reads a qualified name whose schema, if any, is pg_catalog.
func name(list []*pg.Node) (string, bool) {
	switch len(list) {
	case 1:
		return list[0].GetString_().GetSval(), true
	case 2:
		return list[1].GetString_().GetSval(), list[0].GetString_().GetSval() == "pg_catalog"
	}
	return "", false
}

// spelledName is a name as an error shows it.
func spelledName(list []*pg.Node) string {
	var parts []string
	for _, n := range list {
		parts = append(parts, n.GetString_().GetSval())
	}
	return strings.Join(parts, ".")
}

// integerConstant reads an integer that stands in the text, with or without a cast to an integer type.
func integerConstant(n *pg.Node) (*big.Rat, bool) {
	if c := n.GetTypeCast(); c != nil {
		if t, ok := name(c.TypeName.GetNames()); !ok || !isInteger(t) || len(c.TypeName.GetArrayBounds()) > 0 {
			return nil, false
		}
		n = c.Arg
	}
	s := ""
	switch c := n.GetAConst().GetVal().(type) {
	case *pg.A_Const_Ival:
		return big.NewRat(int64(c.Ival.GetIval()), 1), true
	case *pg.A_Const_Fval:
		s = c.Fval.GetFval()
	case *pg.A_Const_Sval:
		s = c.Sval.GetSval()
	}
	i, ok := new(big.Int).SetString(s, 10)
	if !ok {
		return nil, false
	}
	return new(big.Rat).SetInt(i), true
}

// where finds a byte of the text near a node.
func where(n *pg.Node) int32 {
	if v := reflect.ValueOf(n.GetNode()); v.IsValid() {
		if at, ok := v.Elem().Field(0).Interface().(interface{ GetLocation() int32 }); ok {
			return at.GetLocation()
		}
	}
	return -1
}

// kindName names the kind of a node.
func kindName(n *pg.Node) string {
	return strings.TrimPrefix(fmt.Sprintf("%T", n.GetNode()), "*pg_query.Node_")
}
