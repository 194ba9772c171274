package synthetic

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/provision"
)

// Sink takes the tables of a twin in place of those that it had. Who reads it sees the old ones until the new ones
// are whole.
type Sink interface {
	// References lists the foreign keys of tables that have rows. An error names one of those given that is not there.
	References(ctx context.Context, tables []policy.Name) ([]Reference, error)
	// Replace takes drawn tables in the order in which they are given, parents first.
	Replace(ctx context.Context, tables []Rows) (map[policy.Name]Written, error)
}

// Reference is a foreign key between two tables.
type Reference struct{ From, To policy.Name }

// Written is how many rows a table took, and how many it would not.
type Written struct{ Rows, Left int }

// Database is a Sink: one that setup has made for a twin.
type Database struct{ DSN string }

// connect refuses every other database: there, rows are replaced that are somebody's.
func (d Database) connect(ctx context.Context) (*pgx.Conn, error) {
	conn, err := backend.Connect(ctx, "synthesize", d.DSN, "")
	if err != nil {
		return nil, err
	}
	made, err := provision.IsTwin(ctx, conn)
	if err == nil && !made {
		err = fmt.Errorf("databases.synthesize: dpproxy setup has not made this database for a twin: nothing in it is replaced")
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
	}
	return conn, nil
}

//go:embed sql/references.sql
var referencesSQL string

//go:embed sql/filter.sql
var filterSQL string

// References implements Sink.
func (d Database) References(ctx context.Context, tables []policy.Name) ([]Reference, error) {
	conn, err := d.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	ask := func(sql string, args ...any) (yes bool, err error) {
		err = conn.QueryRow(ctx, sql, args...).Scan(&yes)
		return yes, err
	}
	for _, t := range tables {
		there, err := ask("SELECT pg_catalog.to_regclass($1) IS NOT NULL", quoted(t.Schema, t.Relation))
		if err != nil {
			return nil, err
		}
		if !there {
			return nil, fmt.Errorf("the twin has no table %s: run dpproxy setup", t)
		}
	}
	all, err := referencesIn(ctx, conn)
	if err != nil {
		return nil, err
	}
	var list []Reference
	for _, r := range all {
		full, err := ask("SELECT EXISTS (SELECT FROM " + quoted(r.From.Schema, r.From.Relation) + ")")
		if err != nil {
			return nil, err
		}
		if full {
			list = append(list, r)
		}
	}
	return list, nil
}

func referencesIn(ctx context.Context, conn *pgx.Conn) ([]Reference, error) {
	rows, err := conn.Query(ctx, referencesSQL)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (r Reference, err error) {
		return r, row.Scan(&r.From.Schema, &r.From.Relation, &r.To.Schema, &r.To.Relation)
	})
}

// ordered puts public tables first, each behind those that it refers to.
func ordered(tables []Rows, references []Reference) (list []Rows) {
	var add func(t Rows)
	seen := map[policy.Name]bool{}
	add = func(t Rows) {
		if seen[t.Table] {
			return
		}
		seen[t.Table] = true
		for _, other := range tables {
			if other.Public && slices.Contains(references, Reference{t.Table, other.Table}) {
				add(other)
			}
		}
		list = append(list, t)
	}
	for _, public := range []bool{true, false} {
		for _, t := range tables {
			if t.Public == public {
				add(t)
			}
		}
	}
	return list
}

// Replace implements Sink, in one transaction.
func (d Database) Replace(ctx context.Context, tables []Rows) (map[policy.Name]Written, error) {
	conn, err := d.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	tx, err := conn.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // nothing was written, or it is committed
	// names in what the catalogs print are qualified, and nothing hides what they mean
	if _, err := tx.Exec(ctx, "SET LOCAL search_path = pg_catalog, pg_temp"); err != nil {
		return nil, err
	}
	references, err := referencesIn(ctx, conn)
	if err != nil {
		return nil, err
	}
	tables = ordered(tables, references)
	if tables, err = emptied(ctx, tx, tables); err != nil {
		return nil, err
	}
	written := map[policy.Name]Written{}
	for _, t := range tables {
		if written[t.Table], err = write(ctx, tx, t); err != nil {
			return nil, fmt.Errorf("%s: %w", t.Table, err)
		}
	}
	return written, tx.Commit(ctx)
}

// emptied returns the tables that are to be written, and empties them.
func emptied(ctx context.Context, tx pgx.Tx, tables []Rows) (list []Rows, err error) {
	for _, t := range slices.Backward(tables) {
		name, has := quoted(t.Table.Schema, t.Table.Relation), false
		if t.Keep {
			if err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM "+name+")").Scan(&has); err != nil {
				return nil, err
			}
		}
		if has {
			continue
		}
		if _, err := tx.Exec(ctx, "DELETE FROM "+name); err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	slices.Reverse(list)
	return list, nil
}

// filtering is a statement that takes rows out, and the one that does where it ends with an error; nil: none.
type filtering struct {
	SQL       string
	Carefully *string
}

// run returns how many rows it takes out.
func (f filtering) run(ctx context.Context, tx pgx.Tx) (int, error) {
	within, err := tx.Begin(ctx) // a savepoint
	if err != nil {
		return 0, err
	}
	tag, err := within.Exec(ctx, f.SQL)
	if err == nil {
		return int(tag.RowsAffected()), within.Commit(ctx)
	}
	if f.Carefully == nil {
		return 0, err
	}
	if err := within.Rollback(ctx); err != nil {
		return 0, err
	}
	tag, err = tx.Exec(ctx, *f.Carefully)
	return int(tag.RowsAffected()), err
}

// write has the table take those of the rows that break no constraint of it.
func write(ctx context.Context, tx pgx.Tx, t Rows) (Written, error) {
	name, columns := quoted(t.Table.Schema, t.Table.Relation), quotedList(t.Columns)
	rows, err := tx.Query(ctx, filterSQL, name)
	if err != nil {
		return Written{}, err
	}
	filter, err := pgx.CollectRows(rows, pgx.RowToStructByPos[filtering])
	if err != nil {
		return Written{}, err
	}
	if _, err := tx.Exec(ctx, filter[0].SQL); err != nil {
		return Written{}, err
	}
	copied, err := copyIn(ctx, tx.Conn(), t)
	if err != nil {
		return Written{}, err
	}
	left := 0
	for more := true; more; { // rows may refer to those that have just gone
		more = false
		for _, f := range filter[1:] {
			n, err := f.run(ctx, tx)
			if err != nil {
				return Written{}, err
			}
			left, more = left+n, more || n > 0
		}
	}
	_, err = tx.Conn().PgConn().Exec(ctx, fmt.Sprintf(
		"INSERT INTO %s (%[2]s) SELECT %[2]s FROM pg_temp.dpproxy_rows; DROP TABLE pg_temp.dpproxy_rows CASCADE", name, columns)).ReadAll()
	return Written{copied - left, left}, err
}

func quotedList(names []string) string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = quoted(name)
	}
	return strings.Join(list, ", ")
}

// copyIn streams rows to where they are filtered, while they are made.
func copyIn(ctx context.Context, conn *pgx.Conn, t Rows) (int, error) {
	reader, writer := io.Pipe()
	go func() { writer.CloseWithError(writeText(writer, t)) }() // nil is EOF
	tag, err := conn.PgConn().CopyFrom(ctx, reader, "COPY pg_temp.dpproxy_rows ("+quotedList(t.Columns)+") FROM STDIN")
	return int(tag.RowsAffected()), errors.Join(err, reader.Close()) // which ends the writer if COPY failed
}

// flushAt is how many bytes go to the server at once.
const flushAt = 64 << 10

// writeText writes rows in COPY's text format.
func writeText(w io.Writer, t Rows) error {
	var buffer bytes.Buffer
	for row, err := range t.All {
		if err != nil {
			return err
		}
		for i, v := range row {
			if i > 0 {
				buffer.WriteByte('\t')
			}
			writeValue(&buffer, v)
		}
		buffer.WriteByte('\n')
		if buffer.Len() >= flushAt {
			if _, err := buffer.WriteTo(w); err != nil {
				return err
			}
		}
	}
	_, err := buffer.WriteTo(w)
	return err
}

var escapes = map[byte]string{'\\': `\\`, '\t': `\t`, '\n': `\n`, '\r': `\r`}

func writeValue(w *bytes.Buffer, v []byte) {
	if v == nil {
		w.WriteString(`\N`)
		return
	}
	if !bytes.ContainsAny(v, "\\\t\n\r") {
		w.Write(v)
		return
	}
	for _, b := range v {
		if escaped, ok := escapes[b]; ok {
			w.WriteString(escaped)
		} else {
			w.WriteByte(b)
		}
	}
}
