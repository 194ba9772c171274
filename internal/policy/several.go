package policy

import (
	"fmt"
	"maps"
	"slices"
)

// Access lists who may connect to a database. A group stands for the analysts that have its budget.
type Access struct{ Analysts, Groups []string }

// allows reports whether the database is open to an analyst; group is empty for one without.
func (a *Access) allows(analyst, group string) bool {
	return a == nil || slices.Contains(a.Analysts, analyst) || slices.Contains(a.Groups, group)
}

// Each lists the databases of the file, each as a policy of its own: p itself, where there is one.
func (p *Policy) Each() []*Policy {
	if p.Several == nil {
		return []*Policy{p}
	}
	return p.Several
}

// One finds the database with a name. Where the file has one, it needs none.
func (p *Policy) One(name string) (*Policy, error) {
	if p.Several == nil && name == "" {
		return p, nil
	}
	var names []string
	for _, d := range p.Several {
		if d.Name == name {
			return d, nil
		}
		names = append(names, d.Name)
	}
	switch {
	case p.Several == nil:
		return nil, fmt.Errorf("%s names no databases, so that there is none to choose", p.File)
	case name == "":
		return nil, fmt.Errorf("%s has several databases; choose one of %s", p.File, list(names))
	}
	return nil, fmt.Errorf("%s has no database %s, but %s", p.File, quoted(name), list(names))
}

// Titled puts the database's name before a line, where the file has several.
func (p *Policy) Titled(line string) string {
	if p.Name == "" {
		return line
	}
	return p.Name + ": " + line
}

// In says of an error in which database it is, where the file has several. A nil error stays one.
func (p *Policy) In(err error) error {
	if err == nil || p.Name == "" {
		return err
	}
	return fmt.Errorf("%s: %w", p.Name, err)
}

// SetMembers has every database of the file ask the same list of members.
func (p *Policy) SetMembers(m *Members) {
	p.Members = m
	for _, d := range p.Several {
		d.Members = m
	}
}

// databases reads one database, or several by name, which have in common what is in p by now.
func (d *document) databases(f file, p *Policy) {
	if definition("one_database").fits(&f.Databases) {
		var c connections
		if err := f.Databases.Decode(&c); err != nil {
			d.fail("databases", "%s", err)
		}
		c.Tables, c.Views = f.Tables, f.Views
		d.database(c, "databases", "", p, f.Defaults.settings)
		return
	}
	p.places = places{at: d.places}
	for name, node := range entries(&f.Databases) {
		path := child("databases", name)
		var c connections
		if err := node.Decode(&c); err != nil {
			d.fail(path, "%s", err)
		}
		one := *p
		one.Name, one.Several = name, nil
		one.missing, one.Databases = maps.Clone(p.missing), Databases{Unset: map[string]string{}}
		one.Access = d.access(c, path, p)
		d.database(c, path, path, &one, f.Defaults.settings)
		for _, other := range p.Several {
			d.checkApart(&one, path, other)
		}
		p.Several = append(p.Several, &one)
	}
	for _, one := range p.Several {
		one.Version = one.version()
		for _, other := range p.Several {
			if other != one {
				one.Beside = append(one.Beside, other.Name)
			}
		}
	}
}

// database reads one database into p: its connections, which stand at path, and its tables and views, which stand in
// the mapping at in.
func (d *document) database(c connections, path, in string, p *Policy, s settings) {
	p.places = places{d.places, map[string]string{"databases": path, "views": child(in, "views")}}
	d.tables(&c.Tables, child(in, "tables"), p, s)
	d.views(&c.Views, child(in, "views"), p)
	d.references(p)
	d.connect(c, path, p)
}

// access reads who may connect; nil: every analyst.
func (d *document) access(c connections, path string, p *Policy) *Access {
	if !d.has(path+".analysts") && !d.has(path+".groups") {
		return nil
	}
	for i, name := range c.Analysts {
		if p.Analysts[name] == nil && p.Auth.DefaultGroup == "" {
			d.fail(element(path+".analysts", i), "%s is not listed under analysts", quoted(name))
		}
	}
	for i, name := range c.Groups {
		d.group(element(path+".groups", i), name, p)
	}
	return &Access{c.Analysts, c.Groups}
}
