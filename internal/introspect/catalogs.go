package introspect

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

//go:embed sql/relations.sql
var relationsSQL string

//go:embed sql/columns.sql
var columnsSQL string

//go:embed sql/shape.sql
var shapeSQL string

//go:embed sql/unique.sql
var uniqueSQL string

//go:embed sql/foreign.sql
var foreignSQL string

//go:embed sql/types.sql
var typesSQL string

// ShapeOf is a query for the shape of a table and of columns of it, as one text: what a plan takes for granted of them.
// The table's schema and name are expressions of type text, the columns' names one of type text[].
func ShapeOf(schema, name, columns string) string {
	return strings.NewReplacer("$1::text", schema, "$2::text", name, "$3::text[]", columns).Replace(shapeSQL)
}

// shapeLength is how long the shape of a table is, and of a column.
const shapeLength = 32

// Catalogs holds what one database says of the policy's relations.
type Catalogs struct {
	relations map[policy.Name]*catalogRelation
	types     map[uint32]catalogType
	// names of all relations by schema, where one that was asked for is missing: what may be meant
	others map[string][]string
}

type catalogRelation struct {
	name       policy.Name
	oid        uint32
	kind       byte
	inherits   bool
	spread     bool
	definition string
	shape      string
	rowLevel   bool  // row-level security applies to us
	rows       int64 // about how many
	columns    []catalogColumn
	unique     [][]string
	primaryKey []string
	foreign    []rewrite.ForeignKey
}

type catalogColumn struct {
	name                   string
	attnum                 int16
	oid                    uint32
	typmod                 int32
	typeName               string
	notNull                bool
	filled                 bool // its domain is NOT NULL
	collation              string
	deterministicCollation bool
	width                  int64 // bytes on average; 0: unknown
	unreadable             bool  // by the role that asks
	shape                  string
}

// spelled names the column's type and, where there is one, its collation.
func (c *catalogColumn) spelled() string { return strings.TrimSpace(c.typeName + " " + c.collation) }

type catalogType struct {
	oid          uint32
	schema, name string
	kind         byte
	base, elem   uint32
	typmod       int32  // of a domain's base type
	over         string // a domain's base type, spelled
	constrained  bool   // a domain that is NOT NULL or has a CHECK
	collated     bool   // a domain with a collation of its own
	labels       []string
}

// Listed returns the catalogs as a shadow has them: the listed columns alone.
func (c *Catalogs) Listed(p *policy.Policy) *Catalogs {
	shadow := &Catalogs{relations: map[policy.Name]*catalogRelation{}, types: c.types}
	for name, r := range c.relations {
		fresh := *r
		fresh.columns = listed(p, r)
		shadow.relations[name] = &fresh
	}
	return shadow
}

func (r *catalogRelation) column(name string) *catalogColumn {
	for i := range r.columns {
		if r.columns[i].name == name {
			return &r.columns[i]
		}
	}
	return nil
}

func (r *catalogRelation) byName() map[string]*catalogColumn {
	named := make(map[string]*catalogColumn, len(r.columns))
	for i := range r.columns {
		named[r.columns[i].name] = &r.columns[i]
	}
	return named
}

func (r *catalogRelation) names() []string {
	names := make([]string, len(r.columns))
	for i, c := range r.columns {
		names[i] = c.name
	}
	return names
}

// catalogPins make every connection spell names alike.
const catalogPins = `SET LOCAL search_path = pg_catalog, pg_temp; SET LOCAL standard_conforming_strings = on; SET LOCAL quote_all_identifiers = off`

// Read reads what a database says of some relations, in one snapshot. It reads no row of them.
func Read(ctx context.Context, conn *pgx.Conn, names []policy.Name) (*Catalogs, error) {
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback(ctx) }() // read-only: nothing to lose
	if _, err := tx.Exec(ctx, catalogPins); err != nil {
		return nil, err
	}
	r := &catalogReader{tx: tx, found: &Catalogs{
		relations: map[policy.Name]*catalogRelation{},
		types:     map[uint32]catalogType{},
	}, byOID: map[uint32]*catalogRelation{}}
	for _, step := range []func(context.Context) error{
		func(ctx context.Context) error { return r.readRelations(ctx, names) },
		func(ctx context.Context) error { return r.readOthers(ctx, names) }, r.readSpread, r.readColumns, r.readShapes,
		r.readUnique, r.readForeign, r.readTypes,
	} {
		if err := step(ctx); err != nil {
			return nil, fmt.Errorf("reading the catalogs: %w", err)
		}
	}
	return r.found, nil
}

type catalogReader struct {
	tx    pgx.Tx
	found *Catalogs
	byOID map[uint32]*catalogRelation
	oids  []uint32
	names []string // of relations, without their schemas
}

// rows runs a catalog query without a named prepared statement: a pooler may be in between.
func (r *catalogReader) rows(ctx context.Context, sql string, scan func(pgx.Rows) error, args ...any) error {
	rows, err := r.tx.Query(ctx, sql, append([]any{pgx.QueryExecModeExec}, args...)...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// othersSQL lists what names that were not found may be slips of.
const othersSQL = `SELECT n.nspname, c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = ANY ($1::text[]) AND c.relkind IN ('r', 'p', 'f', 'v', 'm') AND NOT c.relispartition ORDER BY 1, 2`

func (r *catalogReader) readOthers(ctx context.Context, names []policy.Name) error {
	var schemas []string
	for _, n := range names {
		if r.found.relations[n] == nil {
			schemas = append(schemas, n.Schema)
		}
	}
	if len(schemas) == 0 {
		return nil
	}
	r.found.others = map[string][]string{}
	return r.rows(ctx, othersSQL, func(rows pgx.Rows) error {
		var schema, relation string
		err := rows.Scan(&schema, &relation)
		r.found.others[schema] = append(r.found.others[schema], relation)
		return err
	}, schemas)
}

func (r *catalogReader) readRelations(ctx context.Context, names []policy.Name) error {
	schemas, relations := make([]string, len(names)), make([]string, len(names))
	for i, n := range names {
		schemas[i], relations[i] = n.Schema, n.Relation
	}
	return r.rows(ctx, relationsSQL, func(rows pgx.Rows) error {
		var at int64
		var kind string
		c := &catalogRelation{}
		err := rows.Scan(&at, &c.name.Schema, &c.name.Relation, &c.oid, &kind, &c.inherits, &c.definition, &c.rowLevel,
			&c.rows)
		if err != nil {
			return err
		}
		c.kind = kind[0]
		r.found.relations[c.name], r.byOID[c.oid] = c, c
		r.oids, r.names = append(r.oids, c.oid), append(r.names, c.name.Relation)
		return nil
	}, schemas, relations)
}

// readSpread finds the tables of a Citus cluster that are not the coordinator's alone.
func (r *catalogReader) readSpread(ctx context.Context) error {
	var citus bool
	scan := func(rows pgx.Rows) error { return rows.Scan(&citus) }
	if err := r.rows(ctx, "SELECT EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = 'citus')", scan); err != nil || !citus {
		return err
	}
	return r.rows(
		ctx, "SELECT logicalrelid::pg_catalog.oid FROM pg_catalog.pg_dist_partition WHERE logicalrelid = ANY ($1::oid[])",
		func(rows pgx.Rows) error {
			var relation uint32
			err := rows.Scan(&relation)
			if c := r.byOID[relation]; c != nil {
				c.spread = true
			}
			return err
		}, r.oids)
}

// shapesSQL asks for the shapes of relations $1 and of all their columns, in the order of columnsSQL, by the query that
// proves one later, so that the two are compared as they are.
var shapesSQL = "SELECT w.oid, (" + ShapeOf("w.schema", "w.relation",
	"ARRAY(SELECT a.attname FROM pg_catalog.pg_attribute a WHERE a.attrelid = w.oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum)") + ")\n" +
	"FROM ROWS FROM (pg_catalog.unnest($1::oid[]), pg_catalog.unnest($2::text[]), pg_catalog.unnest($3::text[])) w(oid, schema, relation)"

func (r *catalogReader) readShapes(ctx context.Context) error {
	schemas := make([]string, len(r.oids))
	for i, oid := range r.oids {
		schemas[i] = r.byOID[oid].name.Schema
	}
	return r.rows(ctx, shapesSQL, func(rows pgx.Rows) error {
		var relation uint32
		var shape string
		if err := rows.Scan(&relation, &shape); err != nil {
			return err
		}
		c := r.byOID[relation]
		if len(shape) != shapeLength*(1+len(c.columns)) {
			return fmt.Errorf("the shape of %s has %d characters, with %d columns", c.name, len(shape), len(c.columns))
		}
		c.shape = shape[:shapeLength]
		for i := range c.columns {
			c.columns[i].shape = shape[shapeLength*(i+1):][:shapeLength]
		}
		return nil
	}, r.oids, schemas, r.names)
}

func (r *catalogReader) readColumns(ctx context.Context) error {
	return r.rows(ctx, columnsSQL, func(rows pgx.Rows) error {
		var relation uint32
		var c catalogColumn
		if err := rows.Scan(&relation, &c.attnum, &c.name, &c.oid, &c.typmod, &c.typeName, &c.notNull, &c.filled,
			&c.collation, &c.deterministicCollation, &c.width, &c.unreadable); err != nil {
			return err
		}
		r.byOID[relation].columns = append(r.byOID[relation].columns, c)
		return nil
	}, r.oids, r.names)
}

func (r *catalogReader) readUnique(ctx context.Context) error {
	return r.rows(ctx, uniqueSQL, func(rows pgx.Rows) error {
		var relation uint32
		var primary bool
		var columns []string
		if err := rows.Scan(&relation, &primary, &columns); err != nil {
			return err
		}
		c := r.byOID[relation]
		c.unique = append(c.unique, columns)
		if primary {
			c.primaryKey = columns
		}
		return nil
	}, r.oids)
}

func (r *catalogReader) readForeign(ctx context.Context) error {
	return r.rows(ctx, foreignSQL, func(rows pgx.Rows) error {
		var relation uint32
		var k rewrite.ForeignKey
		to := &k.References
		if err := rows.Scan(&relation, &k.Column, &to.Schema, &to.Relation, &k.ReferencesColumn); err != nil {
			return err
		}
		r.byOID[relation].foreign = append(r.byOID[relation].foreign, k)
		return nil
	}, r.oids)
}

func (r *catalogReader) readTypes(ctx context.Context) error {
	var used []uint32
	for _, relation := range r.found.relations {
		for _, c := range relation.columns {
			used = append(used, c.oid)
		}
	}
	return r.rows(ctx, typesSQL, func(rows pgx.Rows) error {
		var t catalogType
		var kind string
		var over *string
		if err := rows.Scan(&t.oid, &t.schema, &t.name, &kind, &t.base, &t.typmod, &over, &t.constrained, &t.collated,
			&t.elem, &t.labels); err != nil {
			return err
		}
		if t.kind = kind[0]; over != nil {
			t.over = *over
		}
		r.found.types[t.oid] = t
		return nil
	}, used)
}
