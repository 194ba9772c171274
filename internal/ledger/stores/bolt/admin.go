package bolt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"

	"go.etcd.io/bbolt"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/accounting"
)

// Show lists all accounts.
func (s *Store) Show(context.Context) ([]ledger.AccountSummary, error) {
	s.mu.Lock()
	err := s.usable()
	accounts, now := maps.Clone(s.accounts), s.now()
	s.mu.Unlock() // charges go on while the accounts are described
	if err != nil {
		return nil, err
	}
	return s.Rules.Load().Show(accounts, now), nil
}

// Usable returns why the ledger serves nobody, or nil if it serves.
func (s *Store) Usable() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.usable()
}

// Has reports whether the ledger has an account of that name.
func (s *Store) Has(_ context.Context, name string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.accounts[name]
	return ok, nil
}

// usable returns why the ledger serves nobody, or nil if it serves. The caller holds mu.
func (s *Store) usable() error {
	switch {
	case s.closing:
		return ledger.ErrClosed
	case s.broken != nil:
		return fmt.Errorf("ledger %s failed and serves nobody until dpproxy is restarted: %w", s.path, s.broken)
	}
	return nil
}

// Verify reads the file again and derives all its totals.
func (s *Store) Verify(ctx context.Context) (ledger.Report, error) { return s.verify(ctx.Err) }

// exportBatch is the number of records that one read transaction copies. Transactions stay short because a file that
// grows waits for its readers: a single one would let a stalled export hold up every charge.
const exportBatch = 256

// Export writes every record as a line of JSON.
func (s *Store) Export(ctx context.Context, w io.Writer) error {
	var after [2][]byte // account key and record key that were written last
	for {
		var lines bytes.Buffer
		err := s.db.View(func(tx *bbolt.Tx) (err error) {
			after, err = exportRecords(&lines, tx, after)
			return errors.Join(err, ctx.Err())
		})
		if err != nil {
			return fmt.Errorf("ledger %s: %w", s.path, err)
		}
		if lines.Len() == 0 {
			return nil
		}
		if _, err := w.Write(lines.Bytes()); err != nil {
			return err
		}
	}
}

// exportRecords writes up to exportBatch records that follow a position, and returns the position of the last one.
func exportRecords(w io.Writer, tx *bbolt.Tx, after [2][]byte) (position [2][]byte, err error) {
	logs, curves := tx.Bucket(bucketLog), curvesOf(tx)
	accounts, written := logs.Cursor(), 0
	for key, _ := accounts.Seek(after[0]); key != nil; key, _ = accounts.Next() {
		records := logs.Bucket(key).Cursor()
		k, v := records.First()
		if bytes.Equal(key, after[0]) {
			if k, v = records.Seek(after[1]); bytes.Equal(k, after[1]) {
				k, v = records.Next()
			}
		}
		for ; k != nil; k, v = records.Next() {
			if written == exportBatch {
				return after, nil
			}
			payload, stored, err := splitRecord(v)
			if err == nil {
				err = accounting.ExportRecord(w, payload, stored, curves)
			}
			if err != nil {
				return after, err
			}
			written++
			after = [2][]byte{bytes.Clone(key), bytes.Clone(k)}
		}
	}
	return after, nil
}
