package policy

// checkReferences checks what one part of the policy says of another: units, chains, domains.
func checkReferences(p *Policy, sources []tableSource) {
	r := references{p: p, sources: make(map[Name]tableSource, len(sources))}
	for _, s := range sources {
		r.sources[s.Name] = s
	}
	for _, s := range sources {
		if s.Unit != nil {
			r.unit(s)
		}
		for _, c := range s.Columns {
			if c.ValuesFrom != nil {
				r.domain(s, c)
			}
			if c.OfOneUnit != nil && s.Unit != nil {
				r.oneUnit(s, c)
			}
		}
	}
}

type references struct {
	p       *Policy
	sources map[Name]tableSource
}

func (r references) unit(s tableSource) {
	if via := s.Unit.Via; via != nil {
		r.via(s, via)
		return
	}
	if s.Unit.Column != "" && s.Column(s.Unit.Column) == nil {
		s.listed(s.unit.get("column"), s.Unit.Column)
	}
}

// listed reports a column that the policy does not list.
func (s tableSource) listed(at value, column string) {
	if near := nearest(column, s.names()); near != "" {
		at.fail("column %s is not listed under %s; did you mean %q?", column, s.at.child("columns"), near)
		return
	}
	at.fail("column %s is not listed under %s", column, s.at.child("columns"))
}

func (s tableSource) names() []string {
	var names []string
	for _, c := range s.Columns {
		names = append(names, c.Name)
	}
	return names
}

func (r references) via(s tableSource, via *Via) {
	v := s.unit.get("via")
	o := object{value: v, fields: v.fieldsOf("column", "references")}
	if via.Column != "" && s.Column(via.Column) == nil {
		s.listed(o.get("column"), via.Column)
	}
	if via.ReferencesColumn == "" {
		return
	}
	at := o.get("references")
	target, ok := r.sources[via.References]
	switch {
	case !ok:
		at.fail("table %s is not listed", via.References)
		return
	case target.Public:
		at.fail("table %s is public: it has no privacy unit", via.References)
		return
	}
	if target.Column(via.ReferencesColumn) == nil {
		target.listed(at, via.ReferencesColumn)
	}
	if target.Unit != nil && target.Unit.Name != "" && s.Unit.Name != "" && target.Unit.Name != s.Unit.Name {
		s.unit.get("name").fail("%s, but %s, where the chain leads, has the unit %s", s.Unit.Name, target.Name, target.Unit.Name)
	}
	if r.cycle(s.Name) {
		at.fail("the chain of foreign keys comes back to %s; it must end in a table with a unit column", s.Name)
	}
}

// cycle reports whether a table's chain comes back to it.
func (r references) cycle(start Name) bool {
	n := start
	for range len(r.sources) {
		s, ok := r.sources[n]
		if !ok || s.Unit == nil || s.Unit.Via == nil {
			return false
		}
		if n = s.Unit.Via.References; n == start {
			return true
		}
	}
	return false
}

func (r references) domain(s tableSource, c *Column) {
	v := s.columns[c.Name]
	at := object{value: v, fields: v.fieldsOf("values_from")}.get("values_from")
	target, ok := r.sources[c.ValuesFrom.Table]
	switch {
	case !ok:
		at.fail("table %s is not listed", c.ValuesFrom.Table)
	case !target.Public:
		at.fail("table %s is not public, so its values are not a public domain", c.ValuesFrom.Table)
	case target.Columns != nil && target.Column(c.ValuesFrom.Column) == nil:
		target.listed(at, c.ValuesFrom.Column)
	}
}

// oneUnit checks the column that says whose the values of another are: it says so of its own.
func (r references) oneUnit(s tableSource, c *Column) {
	v := s.columns[c.Name]
	at := object{value: v, fields: v.fieldsOf("of_one_unit")}.get("of_one_unit")
	if s.Unit.Column == c.Name {
		at.fail("%s is the unit itself", c.Name)
		return
	}
	target, ok := r.sources[c.OfOneUnit.Table]
	switch {
	case !ok:
		at.fail("table %s is not listed", c.OfOneUnit.Table)
		return
	case target.Public:
		at.fail("table %s is public: it has no privacy unit", c.OfOneUnit.Table)
		return
	}
	says := target.Column(c.OfOneUnit.Column)
	switch {
	case says == nil:
		target.listed(at, c.OfOneUnit.Column)
	case says.OfOneUnit == nil || *says.OfOneUnit != *c.OfOneUnit:
		at.fail("write of_one_unit: true at %s.columns.%s too", target.at.path, says.Name)
	case target.Unit != nil && target.Unit.Name != "" && s.Unit.Name != "" && target.Unit.Name != s.Unit.Name:
		at.fail("the unit of %s is %s, and that of %s is %s", target.Name, target.Unit.Name, s.Name, s.Unit.Name)
	}
}

// fieldsOf finds keys of a mapping that has been checked already.
func (v value) fieldsOf(keys ...string) map[string]value {
	fields := map[string]value{}
	if !v.isMapping() {
		return fields
	}
	for i := 0; i+1 < len(v.node.Content); i += 2 {
		for _, key := range keys {
			if v.node.Content[i].Value == key {
				fields[key] = value{w: v.w, node: v.node.Content[i+1], at: v.node.Content[i], path: v.child(key)}
			}
		}
	}
	return fields
}
