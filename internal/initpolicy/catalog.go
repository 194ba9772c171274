package initpolicy

import (
	"context"
	_ "embed"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/lineage"
	"github.com/dpproxy/dpproxy/internal/policy"
)

//go:embed catalog.sql
var catalogSQL string

// table holds what the catalogs say of one table or view.
type table struct {
	OID          uint32 `json:"oid"`
	Kind         string `json:"kind"` // pg_class.relkind
	Schema, Name string
	Comment      string
	Columns      []column
	Unique       [][]string // by plain columns, the primary key first
	PrimaryKey   []string   `json:"primary_key"`
	Checks       []string   // pg_get_constraintdef
}

type column struct {
	Name      string
	Type      string // format_type
	Base      uint32 // OID of the type, or of a domain's
	Class     string // number, date, timestamp, interval, range, boolean, text, enum, composite, other
	Comment   string
	NotNull   bool
	Generated bool
	Labels    []string // of an enum
}

// catalog is what a schema says.
type catalog struct {
	tables []*table // in the order of their names; partitions are no tables of their own
	views  []*table // plain and materialised
	graph  *lineage.Graph
}

// read lists the tables and views that the connection's role may see.
func read(ctx context.Context, conn *pgx.Conn) (*catalog, error) {
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback(ctx) }() // nothing was written
	// Names are spelled with their schema wherever PostgreSQL prints them.
	if _, err := tx.Exec(ctx, "SET LOCAL search_path = pg_catalog"); err != nil {
		return nil, err
	}
	rows, err := tx.Query(ctx, catalogSQL)
	if err != nil {
		return nil, err
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[table])
	if err != nil {
		return nil, fmt.Errorf("catalogs: %w", err)
	}
	c := &catalog{}
	for i := range found {
		if t := &found[i]; t.Kind == "v" || t.Kind == "m" {
			c.views = append(c.views, t)
		} else {
			c.tables = append(c.tables, t)
		}
	}
	c.graph, err = lineage.Read(ctx, tx)
	return c, err
}

// relation is the table's place among keys, partitions and views.
func (c *catalog) relation(t *table) *lineage.Relation { return c.graph.Relation(t.OID) }

// table finds the table of a relation, of a partition that of which it is a part; nil: it is not in sight.
func (c *catalog) table(r *lineage.Relation) *table {
	root := c.graph.Root(r)
	i := slices.IndexFunc(c.tables, func(t *table) bool { return t.OID == root.OID })
	if i < 0 {
		return nil
	}
	return c.tables[i]
}

// named finds a table by the name that a person gives; nil: there is none.
func (c *catalog) named(name string) *table {
	i := slices.IndexFunc(c.tables, func(t *table) bool {
		return name == t.Name || name == t.Schema+"."+t.Name || name == t.title()
	})
	if i < 0 {
		return nil
	}
	return c.tables[i]
}

// of finds the table that a policy names; nil: there is none.
func (c *catalog) of(name policy.Name) *table {
	i := slices.IndexFunc(c.tables, func(t *table) bool { return t.name() == name })
	if i < 0 {
		return nil
	}
	return c.tables[i]
}

func (t *table) name() policy.Name { return policy.Name{Schema: t.Schema, Relation: t.Name} }

// unique reports whether a column alone is unique.
func (t *table) unique(column string) bool {
	return slices.ContainsFunc(t.Unique, func(u []string) bool { return len(u) == 1 && u[0] == column })
}

func (t *table) column(name string) bool {
	return slices.ContainsFunc(t.Columns, func(c column) bool { return c.Name == name })
}

// title returns the table's name in a policy.
func (t *table) title() string {
	if t.Schema == "public" {
		return quoteName(t.Name)
	}
	return quoteName(t.Schema) + "." + quoteName(t.Name)
}
