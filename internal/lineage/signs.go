package lineage

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dpproxy/dpproxy/internal/policy"
)

// UnitKey is a column that holds a unit's key.
type UnitKey struct {
	Unit   string // the kind: "customer"
	Table  policy.Name
	Column string
}

// Known is what is certain of relations.
type Known struct {
	People func(*Relation) bool // its rows are units', by the policy and by keys
	Public func(*Relation) bool // it is listed as public: what it leads to is said of itself, and ways end there
	Units  []UnitKey
}

// Sign is a reason to think that a public table leads to people, though no constraint of its own leads to them.
type Sign struct {
	Columns []string // which say so; none: the whole table does
	// they have name and type of the key of people's rows, or lead to rows that do; else it is the name or type alone
	Key     bool
	Content bool // what is in the columns says so, and not what they refer to
	Text    string
}

// Signs knows which relations hold people's rows by the names and types of keys: databases without foreign keys say no
// more.
type Signs struct {
	g      *Graph
	known  Known
	tables []*Relation             // in the order of their names; views are none
	owned  map[*Relation]bool      // people's rows, as far as constraints, names and types tell
	named  map[*Relation]bool      // those with a column that tells
	keys   map[string][]referenced // of owned relations, by the names that references to them have
	others map[string][]referenced // of the rest

	foreign map[*Relation]map[string]bool // columns at which foreign keys begin
}

// referenced is a key that a name may refer to.
type referenced struct {
	to     *Relation
	family string
	of     string // whose key it is, in a sentence
	bare   bool   // the name is that of the rows alone, as patient is
}

// vague are names that keys of anything have; with the name of its rows before it, each says whose it is.
var vague = []string{"", "id", "key", "no", "nr", "num", "number", "code", "uuid", "guid", "ref"}

// shared are names that columns of all tables have.
var shared = append([]string{
	"name", "title", "label", "date", "day", "month", "year", "time", "type", "kind", "status", "value", "position",
	"rank", "seq", "order",
	"language", "country", "currency", "slug", "version", "rowid", "oid",
}, vague...)

// Signs finds the relations that hold people's rows by their keys' names, through each other.
func (g *Graph) Signs(known Known) *Signs {
	s := &Signs{
		g: g, known: known, tables: g.Tables(), owned: map[*Relation]bool{}, named: map[*Relation]bool{},
		foreign: map[*Relation]map[string]bool{},
	}
	for _, r := range s.tables {
		s.owned[r] = known.People(r)
	}
	for grown := true; grown; {
		s.collect()
		grown = false
		for _, r := range s.tables {
			if !s.owned[r] && !known.Public(g.Root(r)) && s.refers(r) {
				s.owned[r], s.named[r], grown = true, len(s.keyColumns(r)) > 0, true
			}
		}
	}
	return s
}

// collect lists the names that refer to keys. A name that is made of a table's own is that table's, whoever else has a
// column of it.
func (s *Signs) collect() {
	s.keys, s.others = map[string][]referenced{}, map[string][]referenced{}
	for _, u := range s.known.Units {
		if r := s.g.Named(u.Table); r != nil {
			s.add(s.keys, r, u.Column, u.Unit, policy.Indefinite(u.Unit)+"'s key", true)
		}
	}
	for _, r := range s.tables {
		into := s.others
		if s.owned[r] {
			into = s.keys
		}
		row := Singular(r.Name.Relation)
		s.add(into, r, r.keyColumn(), row, "the key of "+s.title(r), false)
	}
	for name, owned := range s.keys {
		s.keys[name] = slices.DeleteFunc(owned, func(k referenced) bool {
			return !k.made(name) && slices.ContainsFunc(s.others[name], func(o referenced) bool { return o.made(name) })
		})
	}
}

// add lists a key under its own name and those that are made of what its rows are called.
func (s *Signs) add(into map[string][]referenced, r *Relation, key, row, of string, unit bool) {
	c, ok := r.column(key)
	if !ok {
		return
	}
	names := []string{squeezed(row)}
	for _, v := range vague[1:] {
		names = append(names, squeezed(row)+v)
	}
	if unit { // the last word of app_user is enough for whom everything is about
		all := words(row)
		for _, v := range vague[1:] {
			names = append(names, all[len(all)-1]+v)
		}
	}
	if own := squeezed(key); !slices.Contains(shared, own) && !s.isForeign(r, key) {
		names = append(names, own)
	}
	slices.Sort(names)
	for i, name := range slices.Compact(names) {
		into[name] = append(into[name], referenced{r, c.family, of, i == 0 && !unit && name == squeezed(row)})
	}
}

// made reports whether a name is made of that of the relation.
func (k referenced) made(name string) bool {
	return strings.HasPrefix(name, squeezed(Singular(k.to.Name.Relation)))
}

// keyColumn is the column of a relation's key; without an index, one that has its name. Empty: there is none.
func (r *Relation) keyColumn() string {
	if r.key != "" {
		return r.key
	}
	row := squeezed(Singular(r.Name.Relation))
	for _, c := range r.columns {
		if name, ok := strings.CutPrefix(squeezed(c.name), row); ok && name != "" && slices.Contains(vague, name) {
			return c.name
		}
	}
	return ""
}

// isForeign reports whether a foreign key begins at a column.
func (s *Signs) isForeign(r *Relation, column string) bool {
	if s.foreign[r] == nil {
		s.foreign[r] = map[string]bool{}
		for _, k := range s.g.Keys(r) {
			for _, c := range k.Columns {
				s.foreign[r][c] = true
			}
		}
	}
	return s.foreign[r][column]
}

func (s *Signs) title(r *Relation) string {
	return strings.TrimPrefix(s.g.Root(r).Name.String(), "public.")
}

// Of lists the signs of a relation, the surest first.
func (s *Signs) Of(r *Relation) []Sign {
	found := s.keySigns(r)
	if r.Kind == 'f' {
		found = append(found, Sign{Text: "it is a foreign table, whose rows another server holds"})
	}
	if Rank(r.Name.Relation) > NoPerson {
		found = append(found, Sign{Text: "its name says that its rows are people"})
	}
	found = append(found, s.staff(r)...)
	if w := recording(words(r.Name.Relation)); w != "" {
		found = append(found, Sign{Text: fmt.Sprintf("its name says that it records something (%s)", w)})
	}
	for _, c := range r.columns {
		if sign, ok := s.ofColumn(r, c); ok && !slices.ContainsFunc(
			found, func(f Sign) bool { return slices.Contains(f.Columns, c.name) }) {
			found = append(found, sign)
		}
	}
	return found
}

// keyColumns lists the columns that have name and type of the key of people's rows.
func (s *Signs) keyColumns(r *Relation) (found []Sign) {
	for _, c := range r.columns {
		if s.isForeign(r, c.name) {
			continue // it says itself what it refers to
		}
		for _, k := range s.keys[squeezed(c.name)] {
			if k.to != r && k.family == c.family && !k.bare {
				found = append(found, Sign{Columns: []string{c.name}, Key: true, Text: c.name + " has the name and type of " +
					k.of})
				break
			}
		}
	}
	return found
}

// keySigns lists these columns, what the relation shows of rows with such a column, and keys to people's rows that no
// constraint ties to them.
func (s *Signs) keySigns(r *Relation) []Sign {
	found := s.keyColumns(r)
	for _, at := range (&search{g: s.g}).sources(r) {
		if at != r && s.named[at] {
			found = append(found, Sign{Key: true, Text: "it shows rows of " + s.title(at)})
		}
		for _, k := range s.g.keys[at] {
			to := s.g.Root(k.To)
			if to != r && s.owned[to] && !s.known.People(to) &&
				!slices.ContainsFunc(found, func(f Sign) bool { return slices.Equal(f.Columns, k.Columns) }) {
				found = append(found, Sign{Columns: k.Columns, Key: true, Text: strings.Join(k.Columns, ", ") + " leads to " +
					s.title(to)})
			}
		}
	}
	return found
}

// refers reports whether a relation's rows are people's because of the rows that it shows or refers to.
func (s *Signs) refers(r *Relation) bool {
	return len(s.keySigns(r)) > 0 || slices.ContainsFunc((&search{g: s.g}).sources(r), func(at *Relation) bool {
		return s.owned[at] || slices.ContainsFunc(s.g.keys[at], func(k Key) bool { return s.owned[s.g.Root(k.To)] })
	})
}

// ofColumn says what the name and the type of one column tell.
func (s *Signs) ofColumn(r *Relation, c column) (Sign, bool) {
	all := words(c.name)
	sign := Sign{Columns: []string{c.name}}
	own := c.name == r.keyColumn()
	switch {
	case s.isForeign(r, c.name), s.explained(r, all, c.family):
		return sign, false
	case personal(all):
		sign.Content, sign.Text = true, c.name+" reads like a fact about a person"
	case s.endsInKey(all, c.family) != "":
		sign.Text = fmt.Sprintf("%s looks like %s", c.name, s.endsInKey(all, c.family))
	case about(all) != "" && c.family != "boolean":
		sign.Text = fmt.Sprintf("%s says %s", c.name, about(all))
	case len(all) > 1 && all[len(all)-1] == "by" && !slices.Contains([]string{"sort", "order", "group"},
		all[len(all)-2]) && c.family != "boolean":
		sign.Text = c.name + " says who did it"
	case own:
		return sign, false
	case refersToEvent(all):
		sign.Text = c.name + " refers to what has happened to somebody"
	case len(all) > 1 && all[len(all)-1] == "id" && all[0] != "parent":
		sign.Text = c.name + " refers to what the schema does not say"
	case r.freeText(c, all):
		sign.Content, sign.Text = true, c.name+" is free text"
	default:
		return sign, false
	}
	return sign, true
}

// explained reports whether the end of a column's name is that of a key of nobody's rows, and its type too:
// gender_concept_id. A table's own key says nothing of itself, unless its name is the table's.
func (s *Signs) explained(r *Relation, all []string, family string) bool {
	return endOf(all, s.others, func(k referenced, end string) bool {
		return k.family == family && !k.bare && (k.to != r || k.made(end)) && Rank(k.to.Name.Relation) == NoPerson
	}) != nil
}

// endsInKey says which key of people's rows the end of a column's name is, or that it is the name of these rows alone;
// empty: none.
func (s *Signs) endsInKey(all []string, family string) string {
	if k := endOf(all, s.keys, func(k referenced, _ string) bool { return k.family == family && k.family != "boolean" }); k != nil {
		return k.of
	}
	return ""
}

// endOf finds the key that a name ends with, the longest end first.
func endOf(all []string, keys map[string][]referenced, fits func(k referenced, end string) bool) *referenced {
	for i := range all {
		end := strings.Join(all[i:], "")
		for _, k := range keys[end] {
			if fits(k, end) && !(k.bare && i > 0) {
				return &k
			}
		}
	}
	return nil
}

func refersToEvent(all []string) bool {
	n := len(all)
	return n > 1 && all[n-1] == "id" && (all[n-2] == "event" || all[n-2] == "fact")
}

// dictionaryText is how long a text of a dictionary is at most, characters.
const dictionaryText = 255

// freeText reports whether a column may hold what somebody has written, rather than what a thing is called.
func (r *Relation) freeText(c column, all []string) bool {
	switch {
	case c.length == 0:
		return c.family == "text[]" && wrote(all)
	case c.indexed:
		return false
	case wrote(all):
		return true
	case c.length > 0 && c.length <= dictionaryText, ends(all, naming):
		return false
	}
	return !ends(all, describing) || !slices.ContainsFunc(r.columns, func(c column) bool {
		return c.length != 0 && ends(words(c.name), named)
	})
}

// wrote reports whether a text's name says that people write it, or that it may be anything: value_as_string.
func wrote(all []string) bool {
	return len(all) > 0 && all[0] == "value" ||
		slices.ContainsFunc(all, func(w string) bool { return slices.Contains(writing, Singular(w)) }) && !ends(all, naming)
}

// staff lists keys to tables whose names say that their rows are people, though not the units'.
func (s *Signs) staff(r *Relation) []Sign {
	var found []Sign
	for _, k := range s.g.Keys(r) {
		to := s.g.Root(k.To)
		if to != r && Rank(to.Name.Relation) > NoPerson && !s.owned[to] && !s.known.Public(to) {
			columns := strings.Join(k.Columns, ", ")
			found = append(found, Sign{Columns: k.Columns, Text: fmt.Sprintf(
				"%s leads to %s, whose name says that they are people; if its rows are not about them: {public: true, refers_to_people: [%s]}", columns, s.title(to), columns)})
		}
	}
	return found
}
