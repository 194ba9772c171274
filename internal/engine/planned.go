package engine

import (
	"context"
	"errors"
	"io"

	"github.com/dpproxy/dpproxy/internal/session"
)

// planned is an EXPLAIN of a statement that would be refused, since it returns rows of private tables. Tools ask for the plan before they
// decide what to send, or read its costs: they get the shadow's, which has no rows, so that it follows from the schema alone.
type planned struct{ *open }

func (p planned) Execute(ctx context.Context) (session.Rows, error) {
	rows, err := p.open.Execute(ctx)
	if err != nil {
		return nil, err
	}
	return &plannedRows{Rows: rows, refused: "it would be refused: " + p.analysis.Refused}, nil
}

// plannedRows are the lines of a plan, and why the statement would be refused.
type plannedRows struct {
	session.Rows
	refused string // empty: it has been said
}

// Next implements session.Rows.
func (r *plannedRows) Next() ([][]byte, error) {
	row, err := r.Rows.Next()
	if errors.Is(err, io.EOF) && r.refused != "" {
		row, err, r.refused = [][]byte{[]byte(r.refused)}, nil, ""
	}
	return row, err
}
