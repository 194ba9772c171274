package initpolicy

import (
	"context"
	_ "embed"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
)

//go:embed catalog.sql
var catalogSQL string

// table holds what the catalogs say of one table.
type table struct {
	Schema, Name string
	Comment      string
	Columns      []column
	Unique       [][]string // by plain columns, the primary key first
	PrimaryKey   []string
	Keys         []foreignKey // of one column each
	Checks       []string     // pg_get_constraintdef
}

type column struct {
	Name    string
	Type    string // format_type
	Base    uint32 // OID of the type, or of a domain's
	Class   string // number, date, timestamp, interval, range, boolean, text, enum, composite, other
	NotNull bool
	Labels  []string // of an enum
}

type foreignKey struct {
	Column        string
	Schema, Table string
	Target        string // column
}

// row is one table as catalog.sql returns it, in JSON.
type row struct {
	Schema     string       `json:"schema"`
	Name       string       `json:"name"`
	Comment    string       `json:"comment"`
	Columns    []column     `json:"columns"`
	Unique     [][]string   `json:"unique"`
	PrimaryKey []string     `json:"primary_key"`
	Keys       []foreignKey `json:"keys"`
	Checks     []string     `json:"checks"`
}

// read lists the tables that the connection's role may see, by name.
func read(ctx context.Context, conn *pgx.Conn) ([]*table, error) {
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly})
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
	found, err := pgx.CollectRows(rows, pgx.RowTo[row])
	if err != nil {
		return nil, fmt.Errorf("catalogs: %w", err)
	}
	tables := make([]*table, len(found))
	for i, r := range found {
		t := table(r)
		tables[i] = &t
	}
	return tables, nil
}

// unique reports whether a column alone is unique.
func (t *table) unique(column string) bool {
	return slices.ContainsFunc(t.Unique, func(u []string) bool { return len(u) == 1 && u[0] == column })
}

// title returns the table's name in a policy.
func (t *table) title() string {
	if t.Schema == "public" {
		return quoteName(t.Name)
	}
	return quoteName(t.Schema) + "." + quoteName(t.Name)
}
