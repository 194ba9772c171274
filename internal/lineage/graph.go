package lineage

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/policy"
)

//go:embed sql/relations.sql
var relationsSQL string

//go:embed sql/edges.sql
var edgesSQL string

// Relation is a table, view or foreign table.
type Relation struct {
	OID       uint32
	Name      policy.Name
	Kind      byte // pg_class.relkind
	Partition bool
	columns   []column
	key       string // the column that is a key alone; empty: there is none
}

// column is one of a relation's.
type column struct {
	name    string
	family  string // of types whose values may be one key
	length  int32  // of a text, characters; 0: no text, or one of a list; -1: without end
	indexed bool   // by a unique index
}

// Key is a foreign key; a composite one has several columns.
type Key struct {
	Name    string
	Columns []string
	To      *Relation
	Targets []string // columns there
}

// Graph is what the catalogs say of a database's relations.
type Graph struct {
	all               map[uint32]*Relation
	named             map[policy.Name]*Relation
	keys              map[*Relation][]Key
	parents, children map[*Relation][]*Relation
	reads             map[*Relation][]*Relation // by a view, or over a foreign server
}

// Querier is a connection or a transaction.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// Read reads the graph of a database.
func Read(ctx context.Context, q Querier) (*Graph, error) {
	g := &Graph{
		all: map[uint32]*Relation{}, named: map[policy.Name]*Relation{}, keys: map[*Relation][]Key{},
		parents: map[*Relation][]*Relation{}, children: map[*Relation][]*Relation{}, reads: map[*Relation][]*Relation{},
	}
	rows, err := q.Query(ctx, relationsSQL, pgx.QueryExecModeExec)
	if err != nil {
		return nil, fmt.Errorf("reading relations: %w", err)
	}
	var r Relation
	var kind string
	var names, families []string
	var lengths []int32
	var indexed []bool
	scan := []any{
		&r.OID, &r.Name.Schema, &r.Name.Relation, &kind, &r.Partition, &names, &families, &lengths, &indexed,
		&r.key,
	}
	_, err = pgx.ForEachRow(rows, scan, func() error {
		found := r
		found.Kind = kind[0]
		for i, name := range names {
			found.columns = append(found.columns, column{name, families[i], lengths[i], indexed[i]})
		}
		g.all[r.OID], g.named[r.Name] = &found, &found
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading relations: %w", err)
	}
	return g, g.readEdges(ctx, q)
}

func (g *Graph) readEdges(ctx context.Context, q Querier) error {
	rows, err := q.Query(ctx, edgesSQL, pgx.QueryExecModeExec)
	if err != nil {
		return fmt.Errorf("reading keys: %w", err)
	}
	var kind, name string
	var from, to uint32
	var columns, targets []string
	_, err = pgx.ForEachRow(rows, []any{&kind, &from, &to, &name, &columns, &targets}, func() error {
		a, b := g.all[from], g.all[to]
		if a == nil || b == nil {
			return nil // indexes of partitions, and relations of PostgreSQL's own
		}
		switch kind {
		case "key":
			g.keys[a] = append(g.keys[a], Key{name, slices.Clone(columns), b, slices.Clone(targets)})
		case "child":
			g.parents[a] = append(g.parents[a], b)
			g.children[b] = append(g.children[b], a)
		case "reads":
			g.reads[a] = append(g.reads[a], b)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading keys: %w", err)
	}
	return nil
}

// Relation finds a relation by its OID; nil: there is none with rows.
func (g *Graph) Relation(oid uint32) *Relation { return g.all[oid] }

// Named finds a relation by its name; nil: there is none.
func (g *Graph) Named(n policy.Name) *Relation { return g.named[n] }

// Tables lists what holds rows itself, partitions among it, in the order of the names; views do not.
func (g *Graph) Tables() []*Relation {
	var all []*Relation
	for _, r := range g.all {
		if r.Kind != 'v' && r.Kind != 'm' {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b *Relation) int { return cmp.Compare(a.Name.String(), b.Name.String()) })
	return all
}

// Root is the table of which a partition is a part; any other relation is its own.
func (g *Graph) Root(r *Relation) *Relation {
	for r.Partition && len(g.parents[r]) > 0 {
		r = g.parents[r][0]
	}
	return r
}

// Keys returns the foreign keys that say something of a table's rows: its own, those of its partitions and children,
// whose rows it holds, and those of its parents, which hold its rows. Of keys that say the same, one is returned.
func (g *Graph) Keys(r *Relation) []Key {
	var found []Key
	for _, s := range g.family(r) {
		for _, k := range g.keys[s] {
			if !slices.ContainsFunc(found, func(f Key) bool {
				return g.Root(f.To) == g.Root(k.To) && slices.Equal(f.Columns, k.Columns) && slices.Equal(f.Targets, k.Targets)
			}) {
				found = append(found, k)
			}
		}
	}
	return found
}

// HasChildren reports whether a plain table has inheritance children, for whose rows its indexes say nothing.
func (g *Graph) HasChildren(r *Relation) bool { return r.Kind == 'r' && len(g.children[r]) > 0 }

// Reads returns the tables that a view reads, through other views too.
func (g *Graph) Reads(r *Relation) []*Relation {
	var found []*Relation
	seen := map[*Relation]bool{r: true}
	var walk func(*Relation)
	walk = func(r *Relation) {
		for _, next := range g.reads[r] {
			if !seen[next] {
				seen[next] = true
				if next.Kind == 'v' {
					walk(next)
				} else {
					found = append(found, next)
				}
			}
		}
	}
	walk(r)
	return found
}

// family lists a relation, then the partitions and children whose rows it holds, then all parents of these, which hold
// their rows.
func (g *Graph) family(r *Relation) []*Relation {
	found, seen := []*Relation{r}, map[*Relation]bool{r: true}
	add := func(all []*Relation) {
		for _, x := range all {
			if !seen[x] {
				seen[x] = true
				found = append(found, x)
			}
		}
	}
	for i := 0; i < len(found); i++ {
		add(g.children[found[i]])
	}
	for i := 0; i < len(found); i++ {
		add(g.parents[found[i]])
	}
	return found
}
