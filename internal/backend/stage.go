package backend

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// StageRows answers a stage of a statement (docs/privacy.md P28), or reads a query over public tables (P4g): r computes
// so many arrays, one for each column, as the session would, and list makes rows of them, whose values are canonical
// (P24). The arrays stay in the database's own form in between.
func (b *Backend) StageRows(ctx context.Context, on rewrite.Route, r Request, columns int, list rewrite.Query) (
	[][]*rewrite.Canonical, error,
) {
	p, run := b.shadow, b.Shadow
	if on == rewrite.RoutePublic {
		p, run = b.public, b.Public
	}
	r.ResultFormats = []int16{pgtype.BinaryFormatCode}
	rows, err := run(ctx, r)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var arrays [][]byte
	if err := rows.Each(func(row [][]byte) {
		for _, array := range row {
			arrays = append(arrays, slices.Clone(array))
		}
	}); err != nil {
		return nil, err
	}
	if len(arrays) != columns {
		return nil, fmt.Errorf("%w: %d columns of a stage", errProtocol, len(arrays))
	}
	if !slices.ContainsFunc(arrays, func(a []byte) bool { return a != nil }) {
		return nil, nil // no rows
	}
	return p.canonicalRows(ctx, Request{SQL: list.SQL, Parameters: arrays, Formats: r.ResultFormats},
		b.pins(planning, r.Settings), list.Types)
}
