package policy

import (
	"fmt"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Access lists who may connect to a database. A group stands for the analysts that have its budget.
type Access struct{ Analysts, Groups []string }

// allows says whether the database is open to an analyst; group is empty for one without.
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

// namesDatabases tells a mapping of databases, each a mapping itself, from the connections of one.
func (v value) namesDatabases() bool {
	if !v.isMapping() {
		return false
	}
	for i := 0; i+1 < len(v.node.Content); i += 2 {
		node := v.node.Content[i+1]
		if node.Kind == yaml.AliasNode {
			node = node.Alias
		}
		if v.node.Content[i].Value != "admin" {
			return node.Kind == yaml.MappingNode
		}
	}
	return false
}

// readDatabase reads one database into p: its connections, and the tables and views that stand in at.
func readDatabase(connections, at object, p *Policy, d overrides) {
	p.places = places{at.w.places, map[string]string{"databases": connections.path, "views": at.child("views")}}
	tables := readTables(at.get("tables"), p, d)
	for _, t := range tables {
		p.places.roots["tables."+t.Name.String()] = t.at.path
	}
	readViews(at.get("views"), p)
	checkReferences(p, tables)
	readConnections(connections, p)
}

// readSeveral reads databases by name. What they have in common is in p by now.
func readSeveral(o object, v value, p *Policy, d overrides) {
	for _, key := range []string{"tables", "views"} {
		if o.has(key) {
			o.get(key).fail("belongs to one of databases, because there are several")
		}
	}
	p.places = places{at: v.w.places}
	all := v.object()
	for _, name := range all.names {
		at := all.get(name)
		if !validName(name) {
			at.fail("a database's name is 1 to %d bytes without control characters", maxName)
			continue
		}
		one := *p
		one.Name, one.Several = name, nil
		one.missing, one.Databases = maps.Clone(p.missing), Databases{Unset: map[string]string{}}
		fields := at.object("main", "shadow", "public", "admin", "analysts", "groups", "tables", "views")
		if !fields.isMapping() {
			continue
		}
		one.Access = readAccess(fields, p)
		readDatabase(fields, fields, &one, d)
		for _, other := range p.Several {
			checkApart(&one, fields, other)
		}
		p.Several = append(p.Several, &one)
	}
	for _, one := range p.Several {
		one.Version = one.version()
		one.Beside = slices.DeleteFunc(slices.Clone(all.names), func(name string) bool { return name == one.Name })
	}
}

// readAccess reads who may connect.
func readAccess(o object, p *Policy) *Access {
	if !o.has("analysts") && !o.has("groups") {
		return nil
	}
	a := &Access{}
	for _, item := range o.get("analysts").items() {
		if name, ok := item.text(); ok && p.Analysts[name] == nil && p.Auth.DefaultGroup == "" {
			item.fail("%s is not listed under analysts", quoted(name))
		} else if ok {
			a.Analysts = append(a.Analysts, name)
		}
	}
	for _, item := range o.get("groups").items() {
		if name := item.group(p); name != "" {
			a.Groups = append(a.Groups, name)
		}
	}
	return a
}
