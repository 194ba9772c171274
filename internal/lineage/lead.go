package lineage

import "slices"

// Lead is one way from a relation's rows to people.
type Lead struct {
	At     *Relation   // where it begins: the relation itself, or another whose rows it shares
	Key    *Key        // by which it leaves; nil: the rows of At are people's themselves
	Over   []*Relation // between the key's target and the people
	People *Relation
	More   int // partitions and children with the same
}

// Leads finds the ways from a relation's rows to people: by foreign keys of itself, of partitions and children whose
// rows it holds and of parents that hold its rows, by what a foreign table reads, and by chains of these. people says
// which relations are people's; a chain does not pass through what stop names. Of ways by the same columns to the same
// table, one is returned.
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

// HasColumn reports whether a relation has a column.
func (r *Relation) HasColumn(name string) bool {
	_, found := r.column(name)
	return found
}

func (r *Relation) column(name string) (column, bool) {
	i := slices.IndexFunc(r.columns, func(c column) bool { return c.name == name })
	if i < 0 {
		return column{}, false
	}
	return r.columns[i], true
}
