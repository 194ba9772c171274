package policy

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/dpproxy/dpproxy/internal/mechanism"
)

// settings are the keys that defaults and a table may have; the nearest wins.
type settings struct {
	Epsilon          float64
	EpsilonMax       float64 `yaml:"epsilon_max"`
	Mechanism        choice
	MaxGroupsPerUnit int `yaml:"max_groups_per_unit"`
	Grid             gridLiteral
}

func (s *settings) choice() mechanism.Choice { return mechanism.Choice(s.Mechanism) }

// settings checks what stands at path. With moves, of epsilon and epsilon_max the one that is given moves the other,
// which is only a default, along.
func (d *document) settings(path string, s *settings, method Method, moves bool) {
	epsilon, most := d.has(child(path, "epsilon")), d.has(child(path, "epsilon_max"))
	switch {
	case s.Epsilon <= s.EpsilonMax:
	case moves && epsilon && !most:
		s.EpsilonMax = s.Epsilon
	case moves && most && !epsilon:
		s.Epsilon = s.EpsilonMax
	case epsilon:
		d.fail(child(path, "epsilon"), "epsilon %v is above epsilon_max %v", s.Epsilon, s.EpsilonMax)
	case most: // an inherited value was checked where it is written
		d.fail(child(path, "epsilon_max"), "epsilon %v is above epsilon_max %v", s.Epsilon, s.EpsilonMax)
	}
	d.mechanism(child(path, "mechanism"), s.choice(), method)
}

// needsRange says which answers a mechanism for fixed ranges does not give.
const needsRange = "needs a range that the policy fixes: averages, variances and regressions are refused, " +
	"and so are counts and sums of a table without max_rows"

// mechanism checks which noise, bounding and calibration go together.
func (d *document) mechanism(path string, c mechanism.Choice, method Method) {
	if !d.has(path) {
		return
	}
	noise, bounding := child(path, "noise"), child(path, "bounding")
	outside := c.Bounding != "" && c.Bounding != mechanism.Truncate
	if c.Noise == mechanism.Gaussian && method == Pure && outside {
		d.fail(bounding, "gaussian noise satisfies pure ε-DP when it is truncated to the range, not with %s", c.Bounding)
	}
	if c.Bounding == mechanism.Cells && c.Noise == mechanism.Gaussian {
		d.fail(noise, "cells are released with staircase or laplace noise, not with %s", string(c.Noise))
	}
	if c.Noise == mechanism.Staircase && (c.Bounding == mechanism.Truncate || c.Calibration == mechanism.Paper) {
		d.fail(noise, "staircase noise is bounded afterwards: use clamp, fold, denoise or cells, and the calibration tight")
	}
	if c.Calibration == mechanism.Paper && outside {
		d.fail(child(path, "calibration"), "the papers calibrate truncate; %s has the calibration tight", c.Bounding)
	}
	switch {
	case c.Noise == mechanism.Gaussian && method == Pure:
		d.note(noise, "gaussian noise under method: pure %s", needsRange)
	case c.Bounding == mechanism.Denoise, c.Bounding == mechanism.Cells:
		d.note(bounding, "%s %s", string(c.Bounding), needsRange)
	}
}

// tables reads the tables of one database.
func (d *document) tables(n *yaml.Node, path string, p *Policy, s settings) {
	d.named = map[Name]*Table{}
	for key, node := range entries(n) {
		at := child(path, key)
		name, err := relation(key)
		switch {
		case err != nil: // the schema has said so
			continue
		case d.named[name] != nil:
			d.fail(at, "duplicate table: an earlier key is %s too", name)
			continue
		}
		p.places.roots["tables."+name.String()] = at
		d.named[name] = d.table(node, at, name, s, p.Accounting.Method)
		p.Tables = append(p.Tables, d.named[name])
	}
}

func (d *document) table(n *yaml.Node, path string, name Name, s settings, method Method) *Table {
	t := &Table{Name: name, MaxRowsPerUnit: 1}
	file := struct {
		*Table         `yaml:",inline"`
		settings       `yaml:",inline"`
		RefersToPeople yaml.Node `yaml:"refers_to_people"`
		Columns        yaml.Node
	}{Table: t, settings: s}
	if err := n.Decode(&file); err != nil {
		d.fail(path, "%s", err)
		return t
	}
	s = file.settings
	d.settings(path, &s, method, false)
	t.Epsilon, t.EpsilonMax, t.Mechanism, t.MaxGroupsPerUnit = s.Epsilon, s.EpsilonMax, s.choice(), s.MaxGroupsPerUnit
	if t.Public {
		t.MaxRowsPerUnit = 0
		t.RefersToNobody = file.RefersToPeople.Kind == yaml.ScalarNode // false
		for _, column := range file.RefersToPeople.Content {
			t.RefersToPeople = append(t.RefersToPeople, column.Value)
		}
	} else {
		if s.Grid.at != nil {
			t.Grid = &s.Grid.Grid
		}
		if !d.has(path + ".max_rows_per_unit") {
			d.note(path+".max_rows_per_unit", "not given: 1, so every unit counts with one row")
		}
		if t.LeftOut == nil && t.MaxRowsPerUnit > 1 {
			d.note(path+".left_out",
				"not given: how many rows are beyond max_rows_per_unit is unknown, so that intervals cover the noise alone: dpproxy profile finds it, and outside, the same of the bounds of columns")
		}
	}
	d.columns(&file.Columns, path+".columns", t, s.Grid, method)
	return t
}

func (v *Via) UnmarshalYAML(n *yaml.Node) error {
	var file struct {
		Column     string
		References ColumnOf
	}
	err := n.Decode(&file)
	*v = Via{file.Column, file.References.Table, file.References.Column}
	return err
}

// views reads the views of one database, which has its tables by now.
func (d *document) views(n *yaml.Node, path string, p *Policy) {
	for i, item := range n.Content {
		name, err := relation(item.Value)
		at := element(path, i)
		switch {
		case err != nil: // the schema has said so
		case d.named[name] != nil:
			d.fail(at, "%s is listed under tables; a view has no policy of its own", name)
		case slices.Contains(p.Views, name):
			d.fail(at, "%s is listed twice", name)
		default:
			p.Views = append(p.Views, name)
		}
	}
}
