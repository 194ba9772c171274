package introspect

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/policy"
)

// CheckMain reports whatever the policy names and main does not have, and what main has in a form that cannot be
// protected.
func CheckMain(p *policy.Policy, main *Catalogs) error {
	var problems []error
	report := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	for _, t := range p.Tables {
		r := main.relations[t.Name]
		switch {
		case r == nil:
			report("tables.%s: main has no such table, or its role may not use schema %s%s", t.Name, t.Name.Schema,
				policy.Suggestion(t.Name.Relation, main.others[t.Name.Schema]))
			continue
		case r.kind == 'v':
			report("tables.%s: it is a view: list it under views", t.Name)
		case r.kind == 'm':
			report("tables.%s: it is a materialised view, whose rows may mix privacy units: list the tables that it reads",
				t.Name)
		case r.rowLevel: // measures read public tables too, and fail where rows are hidden from them
			report(
				"tables.%s: it has row-level security that applies to main's role: ALTER ROLE … BYPASSRLS for that role, or take the table out of the policy", t.Name)
		}
		for _, c := range t.Columns {
			column := r.column(c.Name)
			if column == nil {
				report("tables.%s.columns.%s: main has no such column%s", t.Name, c.Name, policy.Suggestion(c.Name, r.names()))
			} else if k := unsupportedKind(main, column.oid); k != "" {
				report("tables.%s.columns.%s: it has %s type %s: take the column out of the policy", t.Name, c.Name, k,
					column.typeName)
			}
		}
		if t.Public && t.Columns == nil {
			for _, column := range r.columns {
				if k := unsupportedKind(main, column.oid); k != "" {
					report("tables.%s: it has column %s of %s type %s: list the columns that you want without it", t.Name, column.name,
						k, column.typeName)
				}
			}
		}
		problems = append(problems, checkUnit(main, t)...)
	}
	for i, v := range p.Views {
		if r := main.relations[v]; r == nil {
			report("views[%d]: main has no view %s, or its role may not use schema %s%s", i, v, v.Schema,
				policy.Suggestion(v.Relation, main.others[v.Schema]))
		} else if r.kind != 'v' {
			report("views[%d]: %s is no plain view: list a table under tables; a materialised view cannot be protected", i, v)
		}
	}
	return errors.Join(problems...)
}

// checkReadable reports listed columns that main's role may not read: grants that another policy's setup took back, or
// that came after the last setup. Without this the first statement would be charged, and fail.
func checkReadable(p *policy.Policy, main *Catalogs) error {
	var problems []error
	for _, t := range p.Tables {
		r := main.relations[t.Name]
		if r == nil {
			continue
		}
		var missing []string
		for _, c := range listed(p, r) {
			if c.unreadable {
				missing = append(missing, pgx.Identifier{c.name}.Sanitize())
			}
		}
		if len(missing) > 0 {
			problems = append(
				problems, fmt.Errorf("databases.main: its role may not read %s (%s): run dpproxy setup, or GRANT SELECT",
					pgx.Identifier{t.Name.Schema, t.Name.Relation}.Sanitize(), strings.Join(missing, ", ")))
		}
	}
	return errors.Join(problems...)
}

// unsupportedKind names the kinds of user-defined types that the shadow does not get; empty for all others.
func unsupportedKind(main *Catalogs, oid uint32) string {
	t, ok := main.types[oid]
	switch {
	case !ok || oid < firstNormalOID:
		return ""
	case t.kind == 'c':
		return "a composite"
	case t.kind == 'r' || t.kind == 'm':
		return "a user-defined range"
	case t.elem != 0:
		return unsupportedKind(main, t.elem)
	case t.base != 0:
		return unsupportedKind(main, t.base)
	}
	return ""
}

// checkUnit follows a table's foreign-key chain: the column that it points to must be unique in main (docs/privacy.md
// P2).
func checkUnit(main *Catalogs, t *policy.Table) []error {
	if t.Unit == nil || t.Unit.Via == nil {
		return nil
	}
	via := t.Unit.Via
	target := main.relations[via.References]
	if target == nil {
		return nil // reported where the target is listed, or by the policy's checks
	}
	for _, u := range target.unique {
		if len(u) == 1 && u[0] == via.ReferencesColumn {
			return nil
		}
	}
	return []error{
		fmt.Errorf(
			"tables.%s.privacy_unit.via: %s.%s has no unique index in main, so a row could belong to several units: create one",
			t.Name, via.References, via.ReferencesColumn),
	}
}
