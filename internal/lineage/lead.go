package lineage

import (
	"slices"
	"strings"

	"github.com/dpproxy/dpproxy/internal/policy"
)

// Lead is one way from a relation's rows to people.
type Lead struct {
	At     *Relation   // where it begins: the relation itself, or another whose rows it shares
	Key    *Key        // by which it leaves; nil: the rows of At are people's themselves
	Over   []*Relation // between the key's target and the people
	People *Relation
	More   int // partitions and children with the same
}

// Leads finds the ways from a relation's rows to people: by foreign keys of itself, of partitions and children whose rows it
// holds and of parents that hold its rows, by what a foreign table reads, and by chains of these. people says which relations
// are people's; a chain does not pass through what stop names. Of ways by the same columns to the same table, one is returned.
func (g *Graph) Leads(from *Relation, people, stop func(*Relation) bool) []Lead {
	s := &search{g: g, people: people, stop: stop}
	var found []Lead
	for _, at := range s.sources(from) {
		if at != from && people(at) {
			if !again(found, func(f Lead) bool { return f.Key == nil && g.Root(f.People) == g.Root(at) }) {
				found = append(found, Lead{At: at, People: at})
			}
			continue
		}
		for i, k := range g.keys[at] {
			same := func(f Lead) bool {
				return f.Key != nil && g.Root(f.Key.To) == g.Root(k.To) && slices.Equal(f.Key.Columns, k.Columns)
			}
			if again(found, same) {
				continue
			}
			if way := s.way(k.To, map[*Relation]bool{from: true}); way != nil {
				found = append(found, Lead{At: at, Key: &g.keys[at][i], Over: way[:len(way)-1], People: way[len(way)-1]})
			}
		}
	}
	return found
}

// again counts a lead that is known from another partition or child.
func again(found []Lead, same func(Lead) bool) bool {
	i := slices.IndexFunc(found, same)
	if i >= 0 {
		found[i].More++
	}
	return i >= 0
}

type search struct {
	g            *Graph
	people, stop func(*Relation) bool
}

// sources lists the relations whose rows a relation shows: its family, and what views and foreign tables of it read.
func (s *search) sources(r *Relation) []*Relation {
	var found []*Relation
	seen := map[*Relation]bool{}
	var walk func(*Relation)
	walk = func(r *Relation) {
		for _, x := range s.g.family(r) {
			if seen[x] {
				continue
			}
			seen[x] = true
			found = append(found, x)
			for _, next := range s.g.reads[x] {
				walk(next)
			}
		}
	}
	walk(r)
	return found
}

// way returns the relations from one to people, the last; nil: there is no way.
func (s *search) way(r *Relation, seen map[*Relation]bool) []*Relation {
	if seen[r] {
		return nil
	}
	seen[r] = true
	sources := s.sources(r)
	for _, at := range sources {
		if s.people(at) {
			return []*Relation{at}
		}
	}
	if s.stop(r) {
		return nil
	}
	for _, at := range sources {
		for _, k := range s.g.keys[at] {
			if rest := s.way(k.To, seen); rest != nil {
				return append([]*Relation{r}, rest...)
			}
		}
	}
	return nil
}

// UnitKey is a column that holds a unit's key.
type UnitKey struct {
	Unit   string // the kind: "customer"
	Table  policy.Name
	Column string
}

// vague are names that keys of anything have; with a unit's name before it, each is that unit's.
var vague = []string{"", "id", "key", "no", "nr", "num", "number", "code", "uuid", "guid", "ref"}

// Suspects are the names and types that units' keys have: nobody has declared what such a column refers to.
type Suspects map[looks]UnitKey

// looks are what a column has in common with a unit's key.
type looks struct{ name, family string }

// Suspects prepares the search for columns like these keys. A column that is like several counts as the first.
func (g *Graph) Suspects(keys ...UnitKey) Suspects {
	s := Suspects{}
	for _, key := range keys {
		of := g.Named(key.Table)
		if of == nil {
			continue
		}
		at := slices.Index(of.columns, key.Column)
		if at < 0 {
			continue
		}
		names := make([]string, 0, len(vague)+1)
		for _, v := range vague {
			names = append(names, squeezed(key.Unit+v))
		}
		if name := squeezed(key.Column); !slices.Contains(vague, name) {
			names = append(names, name)
		}
		for _, name := range names {
			if l := (looks{name, of.families[at]}); s[l] == (UnitKey{}) {
				s[l] = key
			}
		}
	}
	return s
}

// Suspect is a column that looks like a unit's key.
type Suspect struct {
	Column string
	Like   UnitKey
}

// In returns the columns of a relation that are suspect.
func (s Suspects) In(r *Relation) (found []Suspect) {
	for i, c := range r.columns {
		if key, known := s[looks{squeezed(c), r.families[i]}]; known {
			found = append(found, Suspect{c, key})
		}
	}
	return found
}

var separators = strings.NewReplacer("_", "", " ", "", "-", "")

// squeezed makes one of customer_id, CustomerId and "customer id".
func squeezed(name string) string {
	return strings.ToLower(separators.Replace(name))
}

// HasColumn reports whether a relation has a column.
func (r *Relation) HasColumn(name string) bool { return slices.Contains(r.columns, name) }
