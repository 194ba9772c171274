package engine

import (
	"errors"
	"io"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/memory"
	"github.com/dpproxy/dpproxy/internal/session"
)

// bufferBytes is how much of an answer is held in memory until the client takes it.
const bufferBytes = 8 << 20

// bufferedRows are an answer over released values: the first rows in memory, and what is longer as it comes.
type bufferedRows struct {
	*openRows
	first   *session.Stored
	notices []*pgconn.Notice
}

// buffer reads the first rows of an answer. A client that pages slowly holds no connection of an answer that is not
// longer, and an error of computing one reaches it instead of the first row.
func buffer(rows *openRows, account *memory.Account, notices []*pgconn.Notice) (session.Rows, error) {
	first := session.NewStored(rows.columns, account)
	for {
		row, err := rows.Next()
		if errors.Is(err, io.EOF) {
			rows.Close()
			first.Complete(rows.Tag(), notices...)
			return first, nil
		}
		if err == nil {
			err = first.Add(row)
		}
		if err != nil {
			rows.Close()
			first.Close()
			return nil, err
		}
		if first.Bytes() >= bufferBytes {
			return &bufferedRows{rows, first, notices}, nil
		}
	}
}

// Next implements session.Rows.
func (r *bufferedRows) Next() ([][]byte, error) {
	row, err := r.first.Next()
	if errors.Is(err, io.EOF) {
		return r.openRows.Next()
	}
	return row, err
}

// Close implements session.Rows.
func (r *bufferedRows) Close() {
	r.openRows.Close()
	r.first.Close()
}

// Notices implements session.Rows.
func (r *bufferedRows) Notices() []*pgconn.Notice { return r.notices }
