package policy

// references checks what one part of the policy says of another: units, chains, domains.
func (d *document) references(p *Policy) {
	for _, t := range p.Tables {
		path := p.path(t.Name)
		switch u := t.Unit; {
		case u == nil:
		case u.Via != nil:
			d.via(p, t, path+".privacy_unit")
		default:
			d.listed(path+".privacy_unit.column", p, t, u.Column)
		}
		for _, c := range t.Columns {
			at := child(path+".columns", c.Name)
			if c.ValuesFrom != nil {
				d.domain(p, c, at+".values_from")
			}
			if c.OfOneUnit != nil && t.Unit != nil {
				d.oneUnit(p, t, c, at+".of_one_unit")
			}
		}
	}
}

// path is where the file has a table.
func (p *Policy) path(n Name) string { return p.places.roots["tables."+n.String()] }

// listed reports a column that the policy does not list.
func (d *document) listed(at string, p *Policy, t *Table, column string) {
	if t.Column(column) != nil {
		return
	}
	var names []string
	for _, c := range t.Columns {
		names = append(names, c.Name)
	}
	d.fail(at, "column %s is not listed under %s.columns%s", column, p.path(t.Name), Suggestion(column, names))
}

// private finds a table that has a unit; nil where there is none.
func (d *document) private(at string, n Name) *Table {
	t := d.named[n]
	switch {
	case t == nil:
		d.fail(at, "table %s is not listed", n)
	case t.Public:
		d.fail(at, "table %s is public: it has no privacy unit", n)
	default:
		return t
	}
	return nil
}

func (d *document) via(p *Policy, t *Table, unit string) {
	via, at := t.Unit.Via, unit+".via.references"
	d.listed(unit+".via.column", p, t, via.Column)
	target := d.private(at, via.References)
	if target == nil {
		return
	}
	d.listed(at, p, target, via.ReferencesColumn)
	if target.Unit != nil && target.Unit.Name != t.Unit.Name {
		d.fail(unit+".name", "%s, but %s, where the chain leads, has the unit %s", t.Unit.Name, target.Name, target.Unit.Name)
	}
	if d.cycle(t) {
		d.fail(at, "the chain of foreign keys comes back to %s; it must end in a table with a unit column", t.Name)
	}
}

// cycle reports whether a table's chain comes back to it.
func (d *document) cycle(start *Table) bool {
	t := start
	for range d.named {
		if t == nil || t.Unit == nil || t.Unit.Via == nil {
			return false
		}
		if t = d.named[t.Unit.Via.References]; t == start {
			return true
		}
	}
	return false
}

func (d *document) domain(p *Policy, c *Column, at string) {
	switch target := d.named[c.ValuesFrom.Table]; {
	case target == nil:
		d.fail(at, "table %s is not listed", c.ValuesFrom.Table)
	case !target.Public:
		d.fail(at, "table %s is not public, so its values are not a public domain", c.ValuesFrom.Table)
	case target.Columns != nil:
		d.listed(at, p, target, c.ValuesFrom.Column)
	}
}

// oneUnit checks the column that says whose the values of another are: it says so of its own.
func (d *document) oneUnit(p *Policy, t *Table, c *Column, at string) {
	if t.Unit.Column == c.Name {
		d.fail(at, "%s is the unit itself", c.Name)
		return
	}
	target := d.private(at, c.OfOneUnit.Table)
	if target == nil {
		return
	}
	switch says := target.Column(c.OfOneUnit.Column); {
	case says == nil:
		d.listed(at, p, target, c.OfOneUnit.Column)
	case says.OfOneUnit == nil || *says.OfOneUnit != *c.OfOneUnit:
		d.fail(at, "write of_one_unit: true at %s.columns.%s too", p.path(target.Name), says.Name)
	case target.Unit != nil && target.Unit.Name != t.Unit.Name:
		d.fail(at, "the unit of %s is %s, and that of %s is %s", target.Name, target.Unit.Name, t.Name, t.Unit.Name)
	}
}
