package schema

import (
	"maps"
	"reflect"
	"slices"
)

// Same reports whether statements would be planned alike under another schema of the same policy, but for estimates of
// rows and widths: it is of the same relations, types and facts that plans rest on.
func (s *Schema) Same(other *Schema) bool {
	return maps.EqualFunc(s.Relations, other.Relations, (*Relation).same) &&
		maps.EqualFunc(s.Enums, other.Enums, func(a, b []string) bool { return slices.Equal(a, b) }) &&
		maps.Equal(s.Types, other.Types)
}

func (r *Relation) same(other *Relation) bool {
	return r.OID == other.OID && r.Shape == other.Shape && r.Definition == other.Definition &&
		r.Distributed == other.Distributed &&
		reflect.DeepEqual(r.Unique, other.Unique) && slices.Equal(r.PrimaryKey, other.PrimaryKey) &&
		reflect.DeepEqual(r.Foreign, other.Foreign) &&
		slices.EqualFunc(r.Columns, other.Columns, func(a, b Column) bool {
			return a.Name == b.Name && a.Attnum == b.Attnum && a.Type == b.Type && a.NotNull == b.NotNull &&
				a.Filled == b.Filled && a.Shape == b.Shape
		})
}
