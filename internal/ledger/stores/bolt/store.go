// Package bolt keeps a ledger in one bbolt file. One process holds the file, and one goroutine of it writes.
//
// Spend and the other calls that record something queue a request (charge.go). The goroutine decides all requests that
// wait, as one batch (commit.go), writes the batch in one transaction (write.go), and answers the callers once that is
// on disk. Reads use the accounts in memory (read.go). A start checks the file's pages (create.go) and derives every
// total from the latest checkpoints and the records that follow them (load.go). layout.go has the buckets and keys.
package bolt

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/accounting"
	"github.com/dpproxy/dpproxy/internal/ledger/stores/accounts"
	"github.com/dpproxy/dpproxy/internal/ledger/stores/answers"
)

// lockWait bounds how long Open waits for the file. A proxy that is being replaced unlocks it sooner.
const lockWait = 2 * time.Second

// Store is the ledger in one bbolt file. One goroutine, run, writes. All others read accounts under mu, or the file
// in read transactions.
type Store struct {
	accounts.Accounts

	path    string
	db      *bbolt.DB
	sealer  answers.Sealer
	work    chan struct{} // holds a token when there is something to commit
	stopped chan struct{} // closed when run has returned
	putting sync.Mutex    // held by PutAnswer: the first answer is kept
	audited chan struct{} // closed when audit has returned

	mu      sync.Mutex // guards what follows
	queue   []*request // for the next commit
	closing bool       // no more requests
	// after a failed write the file's state is unknown: nothing is served until a restart
	broken   error
	accounts map[string]accounting.Account // by name, as on disk
	answers  map[string]pendingAnswer      // not yet on disk, by hash
	serial   uint64                        // of answers
}

// Open opens the file at path, or makes it, and proves that every total in it follows from its latest checkpoints and
// the records after them. Then audit proves the rest. The file stays locked until Close.
func Open(path string, c ledger.Config) (*Store, error) {
	r, err := accounting.NewRules(c)
	if err != nil {
		return nil, err
	}
	if err := prepareFile(path, r.Log); err != nil {
		return nil, err
	}
	db, err := openBolt(path)
	if err != nil {
		return nil, err
	}
	s := &Store{
		path: path, db: db,
		work: make(chan struct{}, 1), stopped: make(chan struct{}), audited: make(chan struct{}),
		answers: make(map[string]pendingAnswer),
	}
	s.Keeper = s
	s.Rules.Store(r)
	if err := s.load(); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	go s.run()
	go s.audit()
	return s, nil
}

// initialMap is the address space, in bytes, that the file is first mapped into. Remapping waits for every reader, so
// it should be rare.
const initialMap = 1 << 30

// growth is the number of bytes by which the file grows: room for some thousand charges.
const growth = 1 << 20

// openBolt takes the exclusive lock that keeps a second proxy from spending the same budget.
func openBolt(path string) (*bbolt.DB, error) {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{
		Timeout: lockWait, InitialMmapSize: initialMap,
		FreelistType: bbolt.FreelistMapType,
	})
	switch {
	case errors.Is(err, bbolterrors.ErrTimeout):
		return nil, errInUse(path)
	case err != nil:
		return nil, fmt.Errorf("ledger %s: %w", path, err)
	}
	db.AllocSize = growth
	return db, nil
}

// errInUse is the error of a file that another process has locked.
func errInUse(path string) error {
	return fmt.Errorf(
		"ledger %s is in use by another process: only one proxy can use a file. Several proxies can share a ledger in PostgreSQL", path)
}

// Close writes what waits for a commit and unlocks the file.
func (s *Store) Close() error {
	s.mu.Lock()
	again := s.closing
	s.closing = true
	s.mu.Unlock()
	s.wake()
	<-s.stopped
	<-s.audited
	if again {
		return nil
	}
	return s.db.Close()
}

// Reconfigure takes over the budgets of a reloaded policy. What the ledger holds stays.
func (s *Store) Reconfigure(_ context.Context, c ledger.Config) error {
	r, err := s.Rules.Load().Reload(c)
	if err != nil {
		return err
	}
	s.Rules.Store(r)
	return nil
}
