package backend

import (
	"context"
	"errors"
	"fmt"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// checkUnits makes sure that values name one unit each: no unit column rounds or folds, and a foreign key is compared with
// the column that it references under one equality. rewrite refuses what fails here, statement by statement.
func checkUnits(s *rewrite.Schema) error {
	var problems []error
	report := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	for _, t := range s.Policy.Tables {
		switch {
		case t.Unit == nil:
		case t.Unit.Via != nil:
			via := t.Unit.Via
			if !s.ViaEquality(t) {
				report("tables.%s.privacy_unit.via: %s is %s and %s.%s is %s, which do not compare as one, so a row could belong to several units: give both columns one type and one deterministic collation, and no float",
					t.Name, via.Column, typed(s, t.Name, via.Column), via.References, via.ReferencesColumn, typed(s, via.References, via.ReferencesColumn))
			}
		default:
			c := s.Relations[t.Name].Column(t.Unit.Column)
			if c != nil && !s.Equality(c).Exact() {
				report("tables.%s.privacy_unit.column: %s is %s, whose equal values may be different units: use a column of an integer type, uuid or text with a deterministic collation",
					t.Name, t.Unit.Column, typed(s, t.Name, t.Unit.Column))
			}
		}
	}
	return errors.Join(problems...)
}

// typed spells a column's type and, if it is not the database's own, its collation.
func typed(s *rewrite.Schema, table policy.Name, name string) string {
	c := s.Relations[table].Column(name)
	if c == nil {
		return "not listed in the policy"
	}
	text := c.TypeName + collate(c)
	if !s.Equality(c).Deterministic {
		text += " (not deterministic)"
	}
	return text
}

func collate(c *rewrite.RelationColumn) string {
	if c.Collation == "" {
		return ""
	}
	return " COLLATE " + c.Collation
}

// adviseUnits names unit columns of one kind that statements cannot join: rewrite refuses such joins.
func adviseUnits(s *rewrite.Schema, f *Findings) {
	first := map[string]*policy.Table{}
	for _, t := range s.Policy.Tables {
		if t.Unit == nil || t.Unit.Via != nil {
			continue
		}
		other := first[t.Unit.Name]
		if other == nil {
			first[t.Unit.Name] = t
			continue
		}
		a, b := s.Relations[other.Name].Column(other.Unit.Column), s.Relations[t.Name].Column(t.Unit.Column)
		if !s.Equality(a).Same(s.Equality(b)) {
			f.advise("tables.%s.privacy_unit.column: %s is %s and %s.%s is %s: joins of the two tables are refused until both columns have one type and collation",
				t.Name, t.Unit.Column, typed(s, t.Name, t.Unit.Column), other.Name, other.Unit.Column, typed(s, other.Name, other.Unit.Column))
		}
	}
}

// checkDomain makes sure that the values of a domain are different in the column: a row would else belong to the groups of
// several.
func (b *Backend) checkDomain(ctx context.Context, s *rewrite.Schema, f *Findings, path string, c *policy.Column, column *rewrite.RelationColumn) error {
	from, key := c.ValuesFrom, "values"
	if from != nil {
		key = "values_from"
	} else if c.Values == nil {
		return nil
	}
	path += "." + key
	if !s.Equality(column).Deterministic {
		f.problem("%s: the column's collation %s is not deterministic, so one row may equal several values: give the column a deterministic collation, or leave %s out", path, column.Collation, key)
		return nil
	}
	if from == nil {
		return b.checkValues(ctx, f, path, column, c.Values)
	}
	source := publicColumn(s, *from)
	if source == nil {
		f.problem("%s: %s.%s is no column of a public table in the policy", path, from.Table, from.Column)
		return nil
	}
	if s.Equality(column).Same(s.Equality(source)) {
		return nil // what is distinct there is distinct here
	}
	values, err := b.Distinct(ctx, *from, source.Type, Settings{})
	if err != nil {
		return err
	}
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = string(v)
	}
	return b.checkValues(ctx, f, path, column, texts)
}

// checkValues has the shadow read every value as the column's type, and compare them.
func (b *Backend) checkValues(ctx context.Context, f *Findings, path string, column *rewrite.RelationColumn, values []string) error {
	for _, v := range values {
		if ok, err := b.literal(ctx, f, path, column.TypeName, v); !ok || err != nil {
			return err
		}
	}
	rows, err := b.Shadow(ctx, Request{SQL: equalValuesSQL(column), Parameters: [][]byte{[]byte(textArray(values))}, Types: []uint32{textArrayOID}})
	if err == nil {
		err = rows.each(func(row [][]byte) {
			f.problem("%s: %q and %q are equal as %s: keep one of them", path, row[0], row[1], column.TypeName)
		})
	}
	_, err = f.objection(path, err)
	return err
}

// publicColumn finds a column of a public table; nil when there is none in the policy.
func publicColumn(s *rewrite.Schema, c policy.ColumnOf) *rewrite.RelationColumn {
	t := s.Policy.Table(c.Table)
	if t == nil || !t.Public {
		return nil
	}
	return s.Relations[c.Table].Column(c.Column)
}

// equalValuesSQL finds pairs in a list of texts that are one value of the column.
func equalValuesSQL(c *rewrite.RelationColumn) string {
	const list = "pg_catalog.unnest($1) WITH ORDINALITY"
	value := func(alias string) string { return "CAST(" + alias + ".v AS " + c.TypeName + ")" + collate(c) }
	return "SELECT x.v, y.v FROM " + list + " x(v, at) JOIN " + list + " y(v, at) ON x.at < y.at AND " + value("x") + " = " + value("y") + " ORDER BY x.at, y.at"
}
