package policy

import "slices"

const (
	// maxRowsPerUnit keeps products of a few joined tables within int64.
	maxRowsPerUnit = 1_000_000_000
	// maxTableRows is 2^53: counts up to it are exact in float8, which margins use.
	maxTableRows = 1 << 53
)

// tableSource keeps a table with its places in the file, for problems that show only when all tables are read.
type tableSource struct {
	*Table
	at      object
	unit    object
	columns map[string]value
}

func readTables(v value, p *Policy, d overrides) []tableSource {
	all := v.object()
	if v.empty() {
		v.fail("missing: at least one table; what is not listed does not exist for an analyst")
	}
	var sources []tableSource
	for _, name := range all.names {
		at := all.get(name)
		n, message := relation(name)
		if message != "" {
			at.fail("%s", message)
			continue
		}
		if p.Table(n) != nil {
			at.fail("duplicate table: an earlier key is %s too", n)
			continue
		}
		s := readTable(at, n, d)
		p.Tables = append(p.Tables, s.Table)
		sources = append(sources, s)
	}
	return sources
}

func readTable(v value, n Name, d overrides) tableSource {
	o := v.object("public", "refers_to_people", "privacy_unit", "max_rows_per_unit", "max_rows", "columns",
		"epsilon", "epsilon_max", "mechanism", "max_groups_per_unit", "grid", "left_out")
	t := &Table{Name: n}
	s := tableSource{Table: t, at: o, columns: map[string]value{}}
	t.Public, _ = o.get("public").boolean()
	if rows, ok := o.get("max_rows").integer(1, maxTableRows); ok {
		t.MaxRows = rows
	}
	if t.Public {
		for _, key := range []string{"privacy_unit", "max_rows_per_unit", "epsilon", "epsilon_max", "mechanism", "max_groups_per_unit", "grid", "left_out"} {
			if o.has(key) {
				o.get(key).fail("has no meaning for a public table")
			}
		}
		t.RefersToPeople, t.RefersToNobody = readRefersToPeople(o.get("refers_to_people"))
	} else {
		if o.has("refers_to_people") {
			o.get("refers_to_people").fail("has a meaning for a public table alone")
		}
		s.unit = readUnit(o, t)
		rows := o.get("max_rows_per_unit")
		t.MaxRowsPerUnit = rows.count(1, maxRowsPerUnit)
		if !rows.given() && v.isMapping() {
			rows.note("not given: 1, so every unit counts with one row")
		}
		t.LeftOut = readShare(o.get("left_out"), "beyond max_rows_per_unit")
		if t.LeftOut == nil && t.MaxRowsPerUnit > 1 {
			o.get("left_out").note("not given: how many rows are beyond max_rows_per_unit is unknown, so that intervals cover the noise alone: dpproxy profile finds it, and outside, the same of the bounds of columns")
		}
	}
	d = d.read(o)
	t.Epsilon, t.EpsilonMax, t.Mechanism, t.MaxGroupsPerUnit = d.Epsilon, d.EpsilonMax, d.Mechanism, d.MaxGroupsPerUnit
	if d.grid != nil && !t.Public {
		t.Grid = &d.grid.Grid
	}
	readColumns(o.get("columns"), s, d)
	return s
}

// readRefersToPeople reads the columns of which the administrator says that they make no row a person's, or false: none of any name does.
func readRefersToPeople(v value) (names []string, nobody bool) {
	if v.given() && v.isBoolean() {
		people, ok := v.boolean()
		if people {
			v.fail("true says that the rows are people's: give the table a privacy_unit")
		}
		return nil, ok && !people
	}
	for _, item := range v.items() {
		switch name, ok := item.text(); {
		case !ok:
		case name == "" || len(name) > maxName:
			item.fail("a column's name is 1 to %d bytes", maxName)
		case slices.Contains(names, name):
			item.fail("%s is listed twice", name)
		default:
			names = append(names, name)
		}
	}
	if v.given() && v.empty() {
		v.fail("must name at least one column")
	}
	return names, false
}

// readShare reads a share of the rows, 0 included; nil where there is none.
func readShare(v value, of string) *float64 {
	share, ok := v.float()
	switch {
	case !ok:
		return nil
	case share < 0 || share >= 1:
		v.fail("must be at least 0 and below 1, not %s: it is the share of the rows that are %s", v.node.Value, of)
		return nil
	}
	return &share
}

func readUnit(o object, t *Table) object {
	v := o.get("privacy_unit")
	u := v.object("name", "column", "via")
	if !v.given() || v.null() {
		if o.isMapping() || o.null() {
			v.fail("missing: whose rows are these? Write privacy_unit: {name: patient, column: id}, or public: true")
		}
		return u
	}
	t.Unit = &Unit{}
	if !v.isMapping() {
		return u
	}
	name := u.get("name")
	switch s, ok := name.text(); {
	case !name.given():
		name.fail("missing: what a unit is, such as patient")
	case ok && s == "":
		name.fail("must not be empty")
	case ok:
		t.Unit.Name = s
	}
	switch column, via := u.get("column"), u.get("via"); {
	case column.given() && via.given():
		via.fail("excludes column: a table has one of the two")
	case column.given():
		t.Unit.Column, _ = column.text()
		if t.Unit.Column == "" && column.isText() {
			column.fail("must not be empty")
		}
	case via.given():
		t.Unit.Via = readVia(via)
	default:
		v.fail("needs column (the unit's key in this table) or via (a foreign key to a table that has it)")
	}
	return u
}

func (v value) isText() bool { return v.given() && !v.null() && !v.isMapping() && !v.isSequence() }

func readVia(v value) *Via {
	o := v.object("column", "references")
	via := &Via{}
	via.Column, _ = o.get("column").text()
	references := o.get("references")
	if s, ok := references.text(); ok {
		c, message := columnOf(s)
		if message != "" {
			references.fail("%s", message)
		}
		via.References, via.ReferencesColumn = c.Table, c.Column
	}
	for _, key := range []string{"column", "references"} {
		if v.isMapping() && !o.has(key) {
			o.get(key).fail("missing: write via: {column: visit_id, references: visits.visit_id}")
		}
	}
	return via
}

func readViews(v value, p *Policy) {
	for _, item := range v.items() {
		s, ok := item.text()
		if !ok {
			continue
		}
		n, message := relation(s)
		switch {
		case message != "":
			item.fail("%s %s", quoted(s), message)
		case p.Table(n) != nil:
			item.fail("%s is listed under tables; a view has no policy of its own", n)
		case slices.Contains(p.Views, n):
			item.fail("%s is listed twice", n)
		default:
			p.Views = append(p.Views, n)
		}
	}
}
