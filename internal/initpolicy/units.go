package initpolicy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/dpproxy/dpproxy/internal/policy"
)

// People whom an institution serves, and people who work for it: words in names of tables whose rows are persons, or records
// of one. The first are what is mostly to be protected where a database has both.
var (
	served = []string{
		"patient", "person", "people", "user", "customer", "client", "member", "student", "subject", "household", "citizen",
		"resident", "passenger", "guest", "subscriber", "donor", "voter", "applicant", "pupil", "participant", "respondent",
		"tenant", "player", "visitor", "borrower", "policyholder", "taxpayer", "child",
	}
	serving = []string{
		"employee", "staff", "worker", "teacher", "driver", "account", "contact", "doctor", "physician", "nurse", "agent",
		"officer", "professor", "salesperson", "seller", "author", "contractor",
	}
)

// personalFacts are names of columns that hold facts about one person, also where their table has another name: an address that customers share a
// table for with shops.
var personalFacts = map[string]bool{
	"email": true, "mail": true, "phone": true, "mobile": true, "telephone": true, "fax": true, "street": true, "address": true, "birthday": true,
	"birthdate": true, "birth": true, "dob": true, "ssn": true, "passport": true, "iban": true, "password": true, "passwd": true, "surname": true,
	"firstname": true, "lastname": true, "fullname": true, "salary": true, "gender": true,
}

// personal reports whether a column's name is one of these facts: birth_date, LastName, email2.
func personal(column string) bool {
	words := strings.FieldsFunc(strings.ToLower(spaced(column)), func(r rune) bool { return !unicode.IsLetter(r) })
	if slices.Contains(words, "id") {
		return false // refers to where it stands
	}
	return personalFacts[strings.Join(words, "")] || slices.ContainsFunc(words, func(w string) bool { return personalFacts[w] })
}

// Ranks of tables by name, the likeliest last.
const (
	noPerson = iota
	ofServing
	ofServed
)

// candidate is a table whose rows may be units.
type candidate struct {
	*table
	rank  int
	reach reached
}

// candidates lists the tables whose rows may be units, the likeliest first.
func (c *catalog) candidates() []candidate {
	var all []candidate
	for _, t := range c.tables {
		if len(t.PrimaryKey) == 1 && t.Kind != "f" && !c.graph.HasChildren(c.relation(t)) {
			if u := (candidate{t, rank(t.Name), c.reach(t)}); u.rank > noPerson || len(u.reach.tables) > 1 {
				all = append(all, u)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.rank, a.rank), cmp.Compare(len(b.reach.tables), len(a.reach.tables)))
	})
	return all
}

// rank says what a table's name tells of its rows: its last word, as in app_users and CrmCustomer.
func rank(name string) int {
	words := strings.FieldsFunc(spaced(name), func(r rune) bool { return !unicode.IsLetter(r) })
	if len(words) == 0 {
		return noPerson
	}
	switch last := singular(words[len(words)-1]); {
	case slices.Contains(served, last):
		return ofServed
	case slices.Contains(serving, last):
		return ofServing
	}
	return noPerson
}

// spaced separates the words of a name like CrmCustomer.
func spaced(name string) string {
	var b strings.Builder
	before := ' '
	for _, r := range name {
		if unicode.IsUpper(r) && unicode.IsLower(before) {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
		before = r
	}
	return b.String()
}

// root takes the likeliest candidate, or the table that is named.
func root(all []candidate, c *catalog, named string) (*candidate, string, error) {
	if t := c.declared(); named == "" && t != nil {
		return &candidate{t, rank(t.Name), c.reach(t)}, "its comment", nil
	}
	if named == "" {
		switch {
		case len(all) == 0:
			return nil, "", nil
		case all[0].rank > noPerson:
			return new(all[0]), "its name", nil
		}
		return new(all[0]), fmt.Sprintf("foreign keys of %d other tables lead to it", len(all[0].reach.tables)-1), nil
	}
	t := c.named(named)
	if t == nil {
		var titles []string
		for _, u := range all {
			titles = append(titles, u.title())
		}
		return nil, "", fmt.Errorf("there is no table %s; the likeliest ones: %s", named, strings.Join(titles, ", "))
	}
	if len(t.PrimaryKey) != 1 {
		return nil, "", fmt.Errorf("table %s has no primary key of one column, which a unit needs", t.title())
	}
	return &candidate{t, rank(t.Name), c.reach(t)}, "the command line", nil
}

// declared finds the table of which a comment says that its primary key is a unit; nil: there is none, or several.
func (c *catalog) declared() (found *table) {
	for _, t := range c.tables {
		_, said, err := policy.TableComment(t.Comment)
		if err != nil || said.Unit == nil || len(t.PrimaryKey) != 1 || said.Unit.Column != t.PrimaryKey[0] {
			continue
		}
		if found != nil {
			return nil
		}
		found = t
	}
	return found
}

// singular makes "patient" of "patients"; good enough for a name that a person may change.
func singular(name string) string {
	name = strings.ToLower(name)
	switch {
	case name == "people":
		return "person"
	case name == "children":
		return "child"
	case strings.HasSuffix(name, "ies"):
		return strings.TrimSuffix(name, "ies") + "y"
	case strings.HasSuffix(name, "s") && !strings.HasSuffix(name, "ss"):
		return strings.TrimSuffix(name, "s")
	}
	return name
}
