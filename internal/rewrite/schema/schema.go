// Package schema is what planning knows of main and of the session: relations and their columns, values in canonical
// form, and the questions that it may ask. It is plain data: no method of it reads a row.
package schema

import (
	"strings"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/policy/bound"
)

// Schema holds what introspection knows of the relations that the policy lists: main's catalogs, never main's rows.
// Pure data.
type Schema struct {
	Policy    *policy.Policy
	Databases []string // that clients can connect to, the one with these relations first
	Relations map[policy.Name]*Relation
	Enums     map[uint32][]string // enum type OID → labels in order
	Types     map[uint32]Type     // every type that a listed column has, by OID (shadow's OIDs)
}

// Type describes a type that is not built in (enum, domain, array of those).
type Type struct {
	Schema, Name string
	Kind         byte   // pg_type.typtype: 'b' base, 'e' enum, 'd' domain
	Base         uint32 // domain: base type
	Typmod       int32  // domain: of the base type; −1: none
	Constrained  bool   // domain: it is NOT NULL or has a CHECK, on main or in the shadow
	Collated     bool   // domain: its collation is not that of its base type
	Elem         uint32 // array: element type
}

// Relation is one table or view of the policy.
type Relation struct {
	Name     policy.Name
	Kind     byte // pg_class.relkind: 'r', 'p', 'f', 'v'
	Inherits bool // has inheritance children that are not partitions
	// other servers read it, each as of a moment of its own: its rows, or copies of them, are on the workers of a Citus
	// cluster
	Distributed bool
	OID         uint32 // in the shadow
	Columns     []Column
	// valid, immediate, non-partial, non-expression unique indexes, by column names; primary key first
	Unique     [][]string
	PrimaryKey []string
	Foreign    []ForeignKey
	Definition string // views: pg_get_viewdef
	Shape      string // names what a plan takes for granted of the table, whatever columns it reads; main proves it (P1)
	Rows       int64  // public tables: about how many rows main's catalogs say they have
}

// ForeignKey says that a column of a table, where it is not NULL, has a value of a column of another one: main enforces
// it for every row.
type ForeignKey struct {
	Column           string
	References       policy.Name
	ReferencesColumn string
}

// Column is one listed column, typed as in the shadow.
type Column struct {
	Name     string
	Attnum   int16
	Type     uint32
	Typmod   int32
	TypeName string // format_type(type, typmod)
	NotNull  bool
	// its domain is NOT NULL: of few ways to store NULL all the same PostgreSQL warns (CREATE DOMAIN)
	Filled                 bool
	Collation              string // quoted, qualified; empty: none or default
	DeterministicCollation bool
	Width                  int64 // public tables: bytes on average, as main's catalogs say; 0: unknown

	Shape string // names what a plan takes for granted of the column, if it relies on it; main proves it (P1)

	// What the policy bounds, as values of the column's type (ReadBounds); nil: nothing.
	Bounds  *bound.Range
	Valid   []bound.Range
	PerUnit *bound.Range
}

// ShapeProof returns what main has to prove of a table that is read, and of the columns that the plan relies on (P1).
func (r *Relation) ShapeProof(relied map[policy.ColumnOf]bool) Proof {
	p := Proof{Relation: r.Name}
	shapes := []string{r.Shape}
	for _, c := range r.Columns {
		if relied[policy.ColumnOf{Table: r.Name, Column: c.Name}] {
			p.Columns, shapes = append(p.Columns, c.Name), append(shapes, c.Shape)
		}
	}
	p.Shape = strings.Join(shapes, "")
	return p
}

// Column finds a column by name; nil when the relation has none.
func (r *Relation) Column(name string) *Column {
	for i := range r.Columns {
		if r.Columns[i].Name == name {
			return &r.Columns[i]
		}
	}
	return nil
}
