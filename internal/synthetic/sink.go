package synthetic

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Sink takes the tables of a twin, parents first, in place of those that it had. Who reads it sees the old ones until
// the new ones are whole.
type Sink interface {
	Replace(ctx context.Context, tables []Rows) error
}

// Database is a Sink: a database with empty tables of these names, or with those of an older twin.
type Database struct{ DSN string }

// Replace implements Sink, in one transaction.
func (d Database) Replace(ctx context.Context, tables []Rows) error {
	conn, err := pgx.Connect(ctx, d.DSN)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	tx, err := conn.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // nothing was written, or it is committed
	for _, t := range slices.Backward(tables) {
		if _, err := tx.Exec(ctx, "DELETE FROM "+quoted(t.Table.Schema, t.Table.Relation)); err != nil {
			return err
		}
	}
	for _, t := range tables {
		if err := copyIn(ctx, conn, t); err != nil {
			return fmt.Errorf("%s: %w", t.Table, err)
		}
	}
	return tx.Commit(ctx)
}

// copyIn streams rows into a table while they are made.
func copyIn(ctx context.Context, conn *pgx.Conn, t Rows) error {
	names := make([]string, len(t.Columns))
	for i, name := range t.Columns {
		names[i] = quoted(name)
	}
	reader, writer := io.Pipe()
	go func() { writer.CloseWithError(writeText(writer, t)) }() // nil is EOF
	_, err := conn.PgConn().CopyFrom(ctx, reader, fmt.Sprintf("COPY %s (%s) FROM STDIN",
		quoted(t.Table.Schema, t.Table.Relation), strings.Join(names, ", ")))
	return errors.Join(err, reader.Close()) // which ends the writer if COPY failed
}

// flushAt is how many bytes go to the server at once.
const flushAt = 64 << 10

// writeText writes rows in COPY's text format.
func writeText(w io.Writer, t Rows) error {
	var buffer bytes.Buffer
	for row := range t.All {
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
