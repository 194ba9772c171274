package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"
)

// The file's buckets. docs/budget.md, «The file», describes them.
var (
	bucketMeta     = []byte("meta")     // format, orders, key of the answers
	bucketLog      = []byte("log")      // account key → bucket: n (8 bytes, big-endian) → record, chain
	bucketAccounts = []byte("accounts") // account key → account
	bucketAnswers  = []byte("answers")  // hash of the answer's key → expiry, sealed answer
	bucketExpiry   = []byte("expiry")   // expiry, hash → nothing
)

// lockWait is how long a start waits for the file: longer than a proxy that is being replaced needs to let go of it.
const lockWait = 2 * time.Second

// fileStore is the ledger in one bbolt file. One goroutine, run, writes; everybody else reads accounts under mu or the
// file in read transactions of bbolt's.
type fileStore struct {
	path    string
	db      *bbolt.DB
	sealer  sealer
	rules   atomic.Pointer[rules]
	wake    chan struct{}          // holds a token when queue is not empty
	stopped chan struct{}          // closed when run has returned
	mu      sync.Mutex             // guards what follows
	queue   []*request             // waiting for the next commit
	closing bool                   // no more requests
	broken  error                  // the file's state is unknown: nothing is served until a restart
	book    map[string]account     // by name, as on disk
	refused map[string]refusals    // by name
	answers map[string]sealedEntry // not yet on disk, by hash
	serial  uint64                 // of answers
}

// refusals are an account's failed fingerprints, with the number of the latest record of each.
type refusals map[string]uint64

// openFile opens the file at path, or makes it, and proves that every total in it follows from its records.
func openFile(path string, r *rules) (*fileStore, error) {
	if err := prepareFile(path, r.Log); err != nil {
		return nil, err
	}
	db, err := openBolt(path)
	if err != nil {
		return nil, err
	}
	s := &fileStore{
		path: path, db: db,
		wake: make(chan struct{}, 1), stopped: make(chan struct{}),
		answers: make(map[string]sealedEntry),
	}
	s.rules.Store(r)
	if err := s.load(); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	go s.run()
	return s, nil
}

// mapped is how much address space the file is mapped into at first, in bytes: remapping waits for every reader, so it
// should be rare.
const mapped = 1 << 30

// growth is by how much the file grows, in bytes: some thousand charges.
const growth = 1 << 20

// openBolt takes the exclusive lock that keeps a second proxy from spending the same budget.
func openBolt(path string) (*bbolt.DB, error) {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: lockWait, InitialMmapSize: mapped, FreelistType: bbolt.FreelistMapType})
	switch {
	case errors.Is(err, bbolterrors.ErrTimeout):
		return nil, fmt.Errorf("ledger %s is in use by another process: one proxy per file; several proxies share a ledger in PostgreSQL", path)
	case err != nil:
		return nil, fmt.Errorf("ledger %s: %w", path, err)
	}
	db.AllocSize = growth
	return db, nil
}

// prepareFile makes a new ledger if there is none, else checks the pages of the one that is there. A new one gets its
// name only when it is complete and on disk: an empty or half-made file is therefore always damage.
func prepareFile(path string, log *slog.Logger) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return createFile(path)
	}
	if err != nil {
		return fmt.Errorf("ledger %s: %w", path, err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("ledger %s is not a regular file", path)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 { // a copy that was put back, say
		if err := os.Chmod(path, 0o600); err != nil {
			return fmt.Errorf("ledger %s may be read or written by others (mode %04o): %w", path, mode, err)
		}
		log.Warn("the ledger could be read or written by others; its mode is now 0600", "file", path, "mode", fmt.Sprintf("%04o", mode))
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("ledger %s: %w", path, err)
	}
	defer f.Close()
	if err := lockFile(f); err != nil {
		return fmt.Errorf("ledger %s is in use by another process: one proxy per file; several proxies share a ledger in PostgreSQL", path)
	}
	if err := checkPages(f); err != nil {
		return fmt.Errorf("ledger %s is damaged: %w. Nothing was changed. Restore a copy, or see docs/budget.md, «A damaged file»", path, err)
	}
	return nil
}

// lockFile tries the lock until lockWait is over.
func lockFile(f *os.File) error {
	const pause = 20 * time.Millisecond
	for waited := time.Duration(0); ; waited += pause {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil || waited >= lockWait {
			return err
		}
		time.Sleep(pause)
	}
}

// createFile writes an empty ledger under a temporary name and moves it into place.
func createFile(path string) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-*")
	if err != nil {
		return fmt.Errorf("ledger %s cannot be made: %w", path, err)
	}
	defer os.Remove(f.Name())
	if err := f.Close(); err != nil {
		return fmt.Errorf("ledger %s cannot be made: %w", path, err)
	}
	db, err := bbolt.Open(f.Name(), 0o600, nil)
	if err != nil {
		return fmt.Errorf("ledger %s cannot be made: %w", path, err)
	}
	err = errors.Join(db.Update(func(tx *bbolt.Tx) error {
		for _, name := range [][]byte{bucketMeta, bucketLog, bucketAccounts, bucketAnswers, bucketExpiry} {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		key, err := newKey()
		if err != nil {
			return err
		}
		meta := tx.Bucket(bucketMeta)
		return errors.Join(
			meta.Put(metaFormat, []byte{fileFormat}), meta.Put(metaOrders, encodeOrders()), meta.Put(metaKey, key))
	}), db.Close())
	if err == nil {
		err = moveIntoPlace(f.Name(), path)
	}
	if err == nil {
		err = syncFolder(filepath.Dir(path))
	}
	if err != nil {
		return fmt.Errorf("ledger %s cannot be made: %w", path, err)
	}
	return nil
}

// moveIntoPlace gives a file its name unless there is one of that name: another process may have made the ledger in the
// meantime, and may have spent from it.
func moveIntoPlace(from, to string) error {
	err := os.Link(from, to)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return nil
	}
	// File systems without hard links. Rename would replace a file, so look first.
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(from, to)
}

// syncFolder makes a new name durable.
func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Close writes what waits, and lets go of the file.
func (s *fileStore) Close() error {
	s.mu.Lock()
	again := s.closing
	s.closing = true
	s.mu.Unlock()
	s.nudge()
	<-s.stopped
	if again {
		return nil
	}
	return s.db.Close()
}

// Reconfigure takes over the budgets of a reloaded policy. What is in the ledger stays.
func (s *fileStore) Reconfigure(_ context.Context, c Config) error {
	r, err := newRules(c.inherit(s.rules.Load().Config))
	if err != nil {
		return err
	}
	s.rules.Store(r)
	return nil
}
