package gate

import (
	"fmt"

	"github.com/dpproxy/dpproxy/internal/certify"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// Facts is what certify may take for granted: what the policy says of whose rows are whose, and what main proves in the
// snapshot that measures. Of a table that is the shape of the columns that the proofs name, and of their types; of
// unique sets, those that they name.
func Facts(s *schema.Schema, proofs []schema.Proof) certify.Facts {
	f := certify.Facts{Tables: map[string]certify.Table{}, Enums: map[string][]string{}, Bases: map[string]string{}}
	for _, p := range proofs {
		if p.Of == "" && p.Values.Text != "" && len(p.Values.Parameters) == 0 {
			f.Proven = append(f.Proven, p.Values.Text)
		}
		if p.Shape == "" {
			continue
		}
		r, t := s.Relations[p.Relation], s.Policy.Table(p.Relation)
		if r != nil && t != nil && sameShape(r, p) {
			f.Tables[key(p.Relation)] = table(t, r, p.Columns)
			for _, c := range p.Columns {
				types(f, s, r.Column(c))
			}
		}
	}
	for _, p := range proofs {
		r := s.Relations[p.Relation]
		if t, proven := f.Tables[key(p.Relation)]; proven && p.Shape == "" && p.Values.Text == "" &&
			(r.Kind == 'p' || !t.Spread) {
			t.Unique = append(t.Unique, p.Columns)
			f.Tables[key(p.Relation)] = t
		}
	}
	return f
}

// sameShape says that what main proves of a table is what the schema says of it.
func sameShape(r *schema.Relation, p schema.Proof) bool {
	columns := map[policy.ColumnOf]bool{}
	for _, c := range p.Columns {
		columns[policy.ColumnOf{Table: r.Name, Column: c}] = true
	}
	return r.ShapeProof(columns).Equal(p)
}

// AllFacts is what catalogs say of all tables: facts for a query that stands alone. A proxy has main prove those that a
// plan rests on.
func AllFacts(s *schema.Schema) certify.Facts {
	var proofs []schema.Proof
	for _, r := range s.Relations {
		all := map[policy.ColumnOf]bool{}
		for _, c := range r.Columns {
			all[policy.ColumnOf{Table: r.Name, Column: c.Name}] = true
		}
		proofs = append(proofs, r.ShapeProof(all))
		for _, columns := range r.Unique {
			proofs = append(proofs, schema.Proof{Relation: r.Name, Columns: columns})
		}
	}
	return Facts(s, proofs)
}

func key(n policy.Name) string { return certify.TableName(n.Schema, n.Relation) }

// table is what is known of a table and of these columns of it.
func table(t *policy.Table, r *schema.Relation, columns []string) certify.Table {
	out := certify.Table{Public: t.Public, Spread: r.Kind != 'r' || r.Inherits, Columns: map[string]certify.Column{}}
	if u := t.Unit; u != nil {
		out.Kind, out.Unit = u.Name, u.Column
		if v := u.Via; v != nil {
			out.Via = &certify.Via{Column: v.Column, Table: key(v.References), Key: v.ReferencesColumn}
		}
	}
	for _, name := range columns {
		c := r.Column(name)
		if c == nil {
			continue
		}
		col := certify.Column{
			Type: c.TypeName, NotNull: c.NotNull, Collation: c.Collation,
			Deterministic: c.DeterministicCollation,
		}
		for _, p := range t.Columns {
			if p.Name == name && p.OfOneUnit != nil {
				col.OneUnit = key(p.OfOneUnit.Table) + "." + p.OfOneUnit.Column
			}
		}
		out.Columns[name] = col
	}
	return out
}

// types notes the domain or the enum that a column is of, or an array of: its shape has what these are.
func types(f certify.Facts, s *schema.Schema, c *schema.Column) {
	for oid := c.Type; oid != 0; {
		t := s.Types[oid]
		name := t.Schema + "." + t.Name
		switch t.Kind {
		case 'e':
			f.Enums[name] = s.Enums[oid]
		case 'd':
			f.Bases[name] = base(s, t)
		}
		oid = max(t.Base, t.Elem) // it has one of them
	}
}

// base is the type that a domain is made of, as format_type prints it.
func base(s *schema.Schema, t schema.Type) string {
	if own, ok := s.Types[t.Base]; ok {
		return own.Schema + "." + own.Name
	}
	built, ok := builtIn.TypeForOID(t.Base)
	if !ok {
		return "" // of which certify knows nothing
	}
	if modifier := t.Typmod - numericHeader; built.Name == "numeric" && modifier >= 0 {
		return fmt.Sprintf("numeric(%d,%d)", modifier>>16, modifier&0x7ff)
	}
	return built.Name
}

// numericHeader is what PostgreSQL adds to precision and scale in a type modifier (VARHDRSZ).
const numericHeader = 4
