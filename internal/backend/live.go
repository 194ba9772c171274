package backend

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

//go:embed sql/database.sql
var databaseSQL string

// Findings are what the live check has to say. Every line says what to do.
type Findings struct {
	Problems []error  // serve does not start
	Advice   []string // what an administrator may want to change
}

// Err is all problems, or nil.
func (f *Findings) Err() error { return errors.Join(f.Problems...) }

func (f *Findings) problem(format string, args ...any) {
	f.Problems = append(f.Problems, fmt.Errorf(format, args...))
}

func (f *Findings) advise(format string, args ...any) {
	f.Advice = append(f.Advice, fmt.Sprintf(format, args...))
}

// CheckLive compares the policy with the databases. serve calls it before it listens, and at every reload; check --live
// prints it. An error means that a database did not answer; what it answered is in the findings. No private row is read.
func (b *Backend) CheckLive(ctx context.Context) (*Findings, error) {
	f := &Findings{}
	if d, err := parseDSNs(b.policy); err != nil {
		f.Problems = append(f.Problems, err)
	} else if err := b.checkRoles(ctx, d, f); err != nil {
		return nil, err
	}
	if err := b.checkDatabases(ctx, f); err != nil {
		return nil, err
	}
	if err := b.checkPublic(ctx, f); err != nil {
		return nil, err
	}
	if err := b.checkReadable(ctx, f); err != nil {
		return nil, err
	}
	schema, err := b.Schema(ctx)
	if err != nil {
		f.Problems = append(f.Problems, err)
		return f, nil // the other checks count on it
	}
	if err := b.checkEmpty(ctx, f); err != nil {
		return nil, err
	}
	if err := b.checkLiterals(ctx, schema, f); err != nil {
		return nil, err
	}
	adviseUnits(schema, f)
	return f, b.adviseIndexes(ctx, schema, f)
}

// checkDatabases compares what text and types depend on (PRIVACY.md 29).
func (b *Backend) checkDatabases(ctx context.Context, f *Findings) error {
	var facts [2]map[string]string
	for i, p := range []*pool{b.main, b.shadow} {
		facts[i] = map[string]string{}
		err := p.each(ctx, databaseSQL, func(rows pgx.Rows) error {
			var name, value string
			err := rows.Scan(&name, &value)
			facts[i][name] = value
			return err
		})
		if err != nil {
			return err
		}
	}
	for _, name := range []string{"major version", "encoding", "LC_COLLATE", "LC_CTYPE", "locale provider", "locale"} {
		if main, shadow := facts[0][name], facts[1][name]; main != shadow {
			f.problem("databases.shadow: its %s is %q, main's is %q: drop the shadow database and run dpproxy setup, which makes one like main", name, shadow, main)
		}
	}
	if e := facts[0]["encoding"]; e != "UTF8" {
		f.problem("databases.main: its encoding is %s; dpproxy needs UTF8", e)
	}
	return nil
}

// sameDatabaseSQL tells databases apart: a standby has the number of its primary.
const sameDatabaseSQL = "SELECT oid::text || ' ' || datname FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database()"

// checkPublic makes sure that public reads main's database, or a standby of it, and no other.
func (b *Backend) checkPublic(ctx context.Context, f *Findings) error {
	if b.public == nil {
		return nil
	}
	main, err := b.main.strings(ctx, sameDatabaseSQL)
	if err != nil {
		return err
	}
	public, err := b.public.strings(ctx, sameDatabaseSQL)
	if err != nil {
		return err
	}
	if !slices.Equal(main, public) {
		f.problem("databases.public: it is connected to %q, main to %q: it must name main's database", public, main)
	}
	return nil
}

// checkEmpty makes sure that the shadow holds no row.
func (b *Backend) checkEmpty(ctx context.Context, f *Findings) error {
	for _, name := range relationNames(b.policy) {
		rows, err := b.Shadow(ctx, Request{SQL: "SELECT 1 FROM " + identifier(name.Schema, name.Relation) + " LIMIT 1"})
		if err != nil {
			return fmt.Errorf("databases.shadow: %w", err)
		}
		if err := rows.each(func([][]byte) {
			f.problem("databases.shadow: %s has rows; a shadow holds none: find out who wrote them, and empty it", name)
		}); err != nil {
			return fmt.Errorf("databases.shadow: %w", err)
		}
	}
	return nil
}

// adviseIndexes names indexes that make measures cheaper, or prove what the policy declares.
func (b *Backend) adviseIndexes(ctx context.Context, s *rewrite.Schema, f *Findings) error {
	for _, t := range b.policy.Tables {
		r := s.Relations[t.Name]
		if t.Unit == nil || r == nil {
			continue
		}
		if r.Kind == 'f' {
			f.advise("tables.%s is a foreign table: main knows neither indexes nor row-level security of the server that holds its rows; make sure that main's role is mapped to one that reads all of them", t.Name)
			continue
		}
		column := t.Unit.Column
		if t.Unit.Via != nil {
			column = t.Unit.Via.Column
		}
		if t.MaxRowsPerUnit == 1 && t.Unit.Via == nil && !provesOne(r, column) {
			f.advise("tables.%s: max_rows_per_unit is 1, but no unique index on %s proves it, so every query groups by it: CREATE UNIQUE INDEX ON %s (%s)",
				t.Name, column, identifier(t.Name.Schema, t.Name.Relation), identifier(column))
			continue
		}
		indexed, err := b.indexed(ctx, t.Name, column)
		if err != nil {
			return err
		}
		if !indexed {
			f.advise("tables.%s: no index begins with %s, by which joins reach the privacy unit: CREATE INDEX ON %s (%s)",
				t.Name, column, identifier(t.Name.Schema, t.Name.Relation), identifier(column))
		}
	}
	return nil
}

func provesOne(r *rewrite.Relation, column string) bool {
	for _, u := range r.Unique {
		if len(u) == 1 && u[0] == column {
			return true
		}
	}
	return false
}

const indexedSQL = `SELECT EXISTS (SELECT FROM pg_catalog.pg_index i
  JOIN pg_catalog.pg_class c ON c.oid = i.indrelid
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]
  WHERE n.nspname = $1 AND c.relname = $2 AND a.attname = $3 AND i.indisvalid)`

func (b *Backend) indexed(ctx context.Context, table policy.Name, column string) (found bool, err error) {
	err = b.main.each(ctx, indexedSQL, func(rows pgx.Rows) error { return rows.Scan(&found) }, table.Schema, table.Relation, column)
	return found, err
}

// each runs a query over catalogs and calls scan for every row.
func (p *pool) each(ctx context.Context, sql string, scan func(pgx.Rows) error, args ...any) error {
	conn, err := p.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	rows, err := conn.Query(ctx, sql, args...)
	if err != nil {
		return fmt.Errorf("databases.%s: %w", p.name, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return fmt.Errorf("databases.%s: %w", p.name, err)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("databases.%s: %w", p.name, err)
	}
	return nil
}
