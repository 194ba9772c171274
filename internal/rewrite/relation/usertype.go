package relation

import (
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltext"
)

// DomainNamed finds a domain of the schema as the search_path does: public first, the other schemas by name; nil where
// the name is that of no domain.
func (b *Base) DomainNamed(in, name string) *expr.Domain {
	var found *schema.Type
	for _, t := range b.Schema.Types {
		if t.Name != name || in != "" && t.Schema != in {
			continue
		}
		if found == nil || found.Schema != "public" && (t.Schema == "public" || t.Schema < found.Schema) {
			found = &t
		}
	}
	if found == nil || found.Kind != 'd' {
		return nil
	}
	b.relyOnDomains()
	d := b.Schema.Below(*found)
	return &expr.Domain{
		Name: name, SQL: sqltext.Ident(d.Schema) + "." + sqltext.Ident(d.Name), Base: d.Base,
		Typmod: d.Typmod, Constrained: d.Constrained, Collated: d.Collated,
	}
}

// relyOnDomains relies on the columns of domains: the shape of any says what all domains demand.
func (b *Base) relyOnDomains() {
	for name, r := range b.Schema.Relations {
		for _, c := range r.Columns {
			if b.Schema.Types[c.Type].Kind == 'd' {
				b.Rely(policy.ColumnOf{Table: name, Column: c.Name})
			}
		}
	}
}
