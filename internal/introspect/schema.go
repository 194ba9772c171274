package introspect

import (
	"errors"
	"fmt"
	"slices"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// ErrStale says that the shadow does not have the shape of main's listed tables; dpproxy setup brings it up to date.
var ErrStale = errors.New("the shadow database is out of date: run dpproxy setup")

// TypeNumbers maps the shadow's OIDs of types that are not built in to main's.
type TypeNumbers map[uint32]uint32

// Schema joins what main and shadow say: OIDs and column numbers are the shadow's, as clients see them; indexes,
// nullability and view definitions are main's, which they are facts about.
//
// A policy that names what main does not have, a shadow that differs from main, bounds that do not fit their columns,
// and units that main's types cannot tell apart are errors; all of a kind are reported together.
func Schema(p *policy.Policy, main, shadow *Catalogs) (*rewrite.Schema, TypeNumbers, error) {
	if err := errors.Join(CheckMain(p, main), checkReadable(p, main)); err != nil {
		return nil, nil, err
	}
	s := &rewrite.Schema{
		Policy: p, Relations: map[policy.Name]*rewrite.Relation{}, Enums: map[uint32][]string{},
		Types: map[uint32]rewrite.Type{},
	}
	var problems []error
	for _, name := range RelationNames(p) {
		relation, err := join(p, main, shadow, name)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		s.Relations[name] = relation
	}
	if len(problems) > 0 {
		return nil, nil, errors.Join(append([]error{ErrStale}, problems...)...)
	}
	numbers := addTypes(s, main, shadow)
	if err := errors.Join(s.ReadBounds(), checkUnits(s)); err != nil {
		return nil, nil, err
	}
	return s, numbers, nil
}

// SameShape reports whether the shadow mirrors main's listed relations.
func SameShape(p *policy.Policy, main, shadow *Catalogs) bool {
	for _, name := range RelationNames(p) {
		if _, err := join(p, main, shadow, name); err != nil {
			return false
		}
	}
	return true
}

// RelationNames lists the tables and views of a policy.
func RelationNames(p *policy.Policy) []policy.Name {
	var names []policy.Name
	for _, t := range p.Tables {
		names = append(names, t.Name)
	}
	return append(names, p.Views...)
}

// listed returns the columns of a relation that analysts may name, in main's order.
func listed(p *policy.Policy, r *catalogRelation) []catalogColumn {
	t := p.Table(r.name)
	if t == nil || t.Public && t.Columns == nil {
		return r.columns
	}
	named := t.ByName()
	return slices.DeleteFunc(slices.Clone(r.columns), func(c catalogColumn) bool { return named[c.name] == nil })
}

// join makes one relation of what main and shadow say. An error says how the shadow differs.
func join(p *policy.Policy, main, shadow *Catalogs, name policy.Name) (*rewrite.Relation, error) {
	m, s := main.relations[name], shadow.relations[name]
	if s == nil {
		return nil, fmt.Errorf("the shadow has no %s", name)
	}
	if (m.kind == 'v') != (s.kind == 'v') {
		return nil, fmt.Errorf("%s is a view in one of main and shadow only", name)
	}
	r := &rewrite.Relation{
		Name: name, Kind: m.kind, Inherits: m.inherits, Distributed: m.spread, OID: s.oid,
		Definition: m.definition, Shape: m.shape,
	}
	public := p.Table(name) != nil && p.Table(name).Public
	if public {
		r.Rows = m.rows
	}
	columns, named := listed(p, m), s.byName()
	for _, c := range columns {
		in := named[c.name]
		if in == nil {
			return nil, fmt.Errorf("the shadow's %s has no column %s", name, c.name)
		}
		if in.typeName != c.typeName || in.collation != c.collation {
			return nil, fmt.Errorf("%s.%s is %s in main and %s in the shadow", name, c.name, c.spelled(), in.spelled())
		}
		if problem := typesDiffer(main, shadow, c.oid, in.oid); problem != "" {
			return nil, fmt.Errorf("%s.%s: %s", name, c.name, problem)
		}
		width := int64(0)
		if public {
			width = c.width
		}
		r.Columns = append(r.Columns, rewrite.RelationColumn{
			Name: c.name, Attnum: in.attnum, Type: in.oid, Typmod: in.typmod, TypeName: c.typeName,
			NotNull: c.notNull, Filled: c.filled, Collation: c.collation, DeterministicCollation: c.deterministicCollation,
			Width: width, Shape: c.shape,
		})
	}
	if len(s.columns) != len(columns) {
		return nil, fmt.Errorf("the shadow's %s has columns that the policy does not list", name)
	}
	// An index over a column that is not listed proves nothing that a statement could use, and main's role may not read
	// the column.
	for _, u := range m.unique {
		if allListed(r, u) {
			r.Unique = append(r.Unique, u)
		}
	}
	if allListed(r, m.primaryKey) {
		r.PrimaryKey = m.primaryKey
	}
	for _, k := range m.foreign {
		if r.Column(k.Column) != nil {
			r.Foreign = append(r.Foreign, k)
		}
	}
	return r, nil
}

// typesDiffer says how two types of one name differ, through all domains and arrays between: empty, if they do not.
func typesDiffer(main, shadow *Catalogs, m, s uint32) string {
	for {
		a, b := main.types[m], shadow.types[s]
		switch {
		case a.kind != b.kind || a.over != b.over:
			return fmt.Sprintf("%s.%s is over another type in main than in the shadow", a.schema, a.name)
		case !slices.Equal(a.labels, b.labels):
			return fmt.Sprintf("the labels of %s.%s differ between main and shadow", a.schema, a.name)
		case a.kind == 'd':
			m, s = a.base, b.base
		case a.elem != 0 && b.elem != 0:
			m, s = a.elem, b.elem
		default:
			return ""
		}
	}
}

func allListed(r *rewrite.Relation, columns []string) bool {
	return len(columns) > 0 && !slices.ContainsFunc(columns, func(c string) bool { return r.Column(c) == nil })
}

// firstNormalOID is the first OID that initdb does not assign (access/transam.h, FirstNormalObjectId): below it, types
// have the same number everywhere.
const firstNormalOID = 16384

func addTypes(s *rewrite.Schema, main, shadow *Catalogs) TypeNumbers {
	byName := map[[2]string]uint32{}
	for _, t := range main.types {
		byName[[2]string{t.schema, t.name}] = t.oid
	}
	numbers := TypeNumbers{}
	for oid, t := range shadow.types {
		// the shadow may lack a CHECK
		constrained := t.constrained || main.types[byName[[2]string{t.schema, t.name}]].constrained
		s.Types[oid] = rewrite.Type{
			Schema: t.schema, Name: t.name, Kind: t.kind, Base: t.base, Typmod: t.typmod,
			Constrained: constrained, Collated: t.collated, Elem: t.elem,
		}
		if t.kind == 'e' {
			s.Enums[oid] = t.labels
		}
		if in, ok := byName[[2]string{t.schema, t.name}]; ok && oid >= firstNormalOID {
			numbers[oid] = in
		}
	}
	return numbers
}
