package rewrite

import "github.com/dpproxy/dpproxy/internal/policy"

// Schema is what introspection knows of the relations that the policy lists: main's catalogs, never main's rows. Pure data.
type Schema struct {
	Policy    *policy.Policy
	Relations map[policy.Name]*Relation
	Enums     map[uint32][]string // enum type OID → labels in order
	Types     map[uint32]Type     // every type that a listed column has, by OID (shadow's OIDs)
	Catalog   CatalogAccess
}

// CatalogAccess is the allow-list for statements that run on the shadow or on public.
type CatalogAccess struct {
	// filled by the rewrite room "catalog"
}

// Type describes a type that is not built in (enum, domain, array of those).
type Type struct {
	Schema, Name string
	Kind         byte   // pg_type.typtype: 'b' base, 'e' enum, 'd' domain
	Base         uint32 // domain: base type
	Elem         uint32 // array: element type
}

// Relation is one table or view of the policy.
type Relation struct {
	Name       policy.Name
	Kind       byte   // pg_class.relkind: 'r', 'p', 'f', 'v'
	Inherits   bool   // has inheritance children that are not partitions
	OID        uint32 // in the shadow
	Columns    []RelationColumn
	Unique     [][]string // valid, immediate, non-partial, non-expression unique indexes, by column names; primary key first
	PrimaryKey []string
	Definition string // views: pg_get_viewdef
	Shape      string // names what the plan takes for granted of the table; main proves it (P1)
	Rows       int64  // public tables: about how many rows main's catalogs say they have
}

// RelationColumn is one listed column, typed as in the shadow.
type RelationColumn struct {
	Name                   string
	Attnum                 int16
	Type                   uint32
	Typmod                 int32
	TypeName               string // format_type(type, typmod)
	NotNull                bool
	Collation              string // quoted, qualified; empty: none or default
	DeterministicCollation bool
	Width                  int64 // public tables: bytes on average, as main's catalogs say; 0: unknown
}

// Column finds a column by name; nil when the relation has none.
func (r *Relation) Column(name string) *RelationColumn {
	for i := range r.Columns {
		if r.Columns[i].Name == name {
			return &r.Columns[i]
		}
	}
	return nil
}
