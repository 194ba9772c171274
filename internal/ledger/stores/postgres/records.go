package postgres

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/accounting"
)

// Verify derives every total from the records and compares it with the one that is stored.
func (s *Store) Verify(ctx context.Context) (ledger.Report, error) {
	var out ledger.Report
	err := s.snapshot(ctx, func(tx pgx.Tx) error {
		p := &pages{tx: tx}
		d := accounting.NewDerivation(p.curve)
		if err := p.each(ctx, func(r storedRecord) error { return d.Add(r.analyst, r.payload, r.chain) }); err != nil {
			return fmt.Errorf("ledger is damaged: %w", err)
		}
		d.Finish()
		out = d.Report()
		stored, err := storedAccounts(ctx, tx)
		if err != nil {
			return err
		}
		return d.Compare(stored)
	})
	return out, err
}

// Export writes every record as a line of JSON.
func (s *Store) Export(ctx context.Context, w io.Writer) error {
	buffered := bufio.NewWriter(w)
	return s.snapshot(ctx, func(tx pgx.Tx) error {
		p := &pages{tx: tx}
		err := p.each(ctx, func(r storedRecord) error {
			return accounting.ExportRecord(buffered, r.payload, r.chain,
				p.curve)
		})
		if err != nil {
			return err
		}
		return buffered.Flush()
	})
}

// pageLength is how many records are read at once, with the curves that they name.
const pageLength = 4096

// pages reads all records, account by account, from what a transaction sees.
type pages struct {
	tx     pgx.Tx
	curves curvesRead // that the records of this page name
}

// storedRecord is a record as it is stored.
type storedRecord struct {
	analyst string
	n       int64
	payload []byte
	chain   accounting.Chain
}

func (p *pages) each(ctx context.Context, do func(storedRecord) error) error {
	for after := (storedRecord{}); ; {
		page, err := p.next(ctx, after)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, r := range page {
			if err := do(r); err != nil {
				return err
			}
		}
		after = page[len(page)-1]
	}
}

// next reads the records that follow one, and their curves.
func (p *pages) next(ctx context.Context, after storedRecord) (page []storedRecord, err error) {
	rows,
		err := p.tx.Query(ctx, `SELECT analyst, n, payload, chain FROM dpproxy_ledger.record WHERE (analyst, n) > ($1, $2)
		ORDER BY analyst, n LIMIT $3`, after.analyst, after.n, pageLength)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names := curveNames{}
	for rows.Next() {
		var r storedRecord
		var link []byte
		if err := rows.Scan(&r.analyst, &r.n, &r.payload, &link); err != nil {
			return nil, err
		}
		if copy(r.chain[:], link); len(link) != len(r.chain) {
			return nil, accounting.RecordError(r.analyst, uint64(r.n), fmt.Errorf("has a chain of %d bytes, not %d", len(link),
				len(r.chain)))
		}
		names.add(r.payload)
		page = append(page, r)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	curves, err := p.tx.Query(ctx, curvesNamed, names.list())
	if err != nil {
		return nil, err
	}
	defer curves.Close()
	p.curves = curvesRead{}
	for curves.Next() {
		if err := p.curves.scan(curves); err != nil {
			return nil, err
		}
	}
	return page, curves.Err()
}

// curve is the accounting.Curves of this page.
func (p *pages) curve(id accounting.CurveID) ([]byte, error) { return p.curves.find(id) }
