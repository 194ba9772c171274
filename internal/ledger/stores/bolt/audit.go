package bolt

import (
	"errors"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/dpproxy/dpproxy/internal/ledger"
)

// audit derives every total from all records, while the ledger already serves by its latest checkpoints. If a record
// does not agree the ledger serves nobody from then on, as if it had not been opened.
func (s *Store) audit() {
	defer close(s.audited)
	_, err := s.verify(s.isClosing)
	if err == nil || errors.Is(err, ledger.ErrClosed) {
		return
	}
	s.Rules.Load().Log.Error("the ledger does not agree with its records and serves nobody from now on", "error", err)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken == nil {
		s.broken = err
	}
}

func (s *Store) isClosing() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return ledger.ErrClosed
	}
	return nil
}

// verify reads the file again and derives all its totals, until stop returns an error.
func (s *Store) verify(stop func() error) (ledger.Report, error) {
	var out ledger.Report
	err := s.db.View(func(tx *bbolt.Tx) error {
		d, err := derive(tx, true, stop)
		out = d.Report()
		return err
	})
	if err != nil {
		return out, fmt.Errorf("ledger %s is damaged: %w. "+repairHint, s.path, err)
	}
	return out, nil
}
