package schema

import (
	"errors"
	"fmt"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/policy/bound"
)

// ReadBounds gives every column the policy's bounds as values of its type. The error names every pair that does not
// fit.
func (s *Schema) ReadBounds() error {
	var problems []error
	for _, t := range s.Policy.Tables {
		for _, c := range t.Columns {
			column := s.Column(t.Name, c.Name)
			if column == nil {
				continue
			}
			if err := column.readBounds(s.BaseType(column.Type), c); err != nil {
				problems = append(problems, fmt.Errorf("tables.%s.columns.%s.%w", t.Name, c.Name, err))
			}
		}
	}
	return errors.Join(problems...)
}

// readBounds reads what the policy says of a column whose type, or whose domain's, is base.
func (m *Column) readBounds(base uint32, p *policy.Column) error {
	m.Bounds, m.Valid, m.PerUnit = nil, nil, nil
	if bound.IsRange(base) {
		switch {
		case p.Valid != nil:
			return fmt.Errorf("valid: the values of a range are not averaged: write bounds, which are those of its ends (%s)",
				m.TypeName)
		case p.PerUnit != nil:
			return fmt.Errorf("per_unit: the values of a range are not added up (%s)", m.TypeName)
		case p.Grid != nil:
			return fmt.Errorf("grid: the values of a range are not added up: give the table a grid (%s)", m.TypeName)
		}
	}
	for _, v := range p.Valid {
		r, err := bound.ForColumn(base, v.Lo, v.Hi)
		if err != nil {
			return fmt.Errorf("valid: %w (%s)", err, m.TypeName)
		}
		m.Valid = append(m.Valid, r)
	}
	switch {
	case p.Bounds != nil:
		r, err := bound.ForColumn(base, p.Bounds.Lo, p.Bounds.Hi)
		if err != nil {
			return fmt.Errorf("bounds: %w (%s)", err, m.TypeName)
		}
		m.Bounds = &r
	case m.Valid != nil:
		m.Bounds = &bound.Range{Lo: m.Valid[0].Lo, Hi: m.Valid[len(m.Valid)-1].Hi}
	}
	if p.PerUnit != nil {
		r, err := bound.ForSum(base, p.PerUnit.Lo, p.PerUnit.Hi)
		if err != nil {
			return fmt.Errorf("per_unit: %w (%s)", err, m.TypeName)
		}
		m.PerUnit = &r
	}
	return nil
}
