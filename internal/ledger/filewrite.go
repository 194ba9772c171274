package ledger

import (
	"encoding/binary"
	"errors"
	"strings"
	"syscall"

	"go.etcd.io/bbolt"
)

// write is the transaction. bbolt syncs twice in it: the pages, then the page that makes them valid.
func (s *fileStore) write(w *work) error {
	s.mu.Lock()
	err := s.broken
	s.mu.Unlock()
	if err != nil {
		return err
	}
	tx, err := s.db.Begin(true)
	if err != nil {
		return err
	}
	if err := w.fill(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	w.rules.at("written")
	return tx.Commit()
}

func (w *work) fill(tx *bbolt.Tx) error {
	logs, accounts := tx.Bucket(bucketLog), tx.Bucket(bucketAccounts)
	for _, l := range w.lines {
		log, err := logs.CreateBucketIfNotExists(accountKey(l.analyst))
		if err != nil {
			return err
		}
		log.FillPercent = 0.95 // keys only grow
		if err := log.Put(recordKey(l.n), append(l.payload, l.chain[:]...)); err != nil {
			return err
		}
	}
	if len(w.lines) > 0 {
		for name, a := range w.accounts {
			if err := accounts.Put(accountKey(name), a.encode()); err != nil {
				return err
			}
		}
		if w.group.n > 0 {
			if err := accounts.Put(accountKey(groupName), w.group.encode()); err != nil {
				return err
			}
		}
	}
	return w.fillAnswers(tx, binary.BigEndian.AppendUint64(nil, uint64(w.now.UnixMicro())))
}

// resizeFailed begins bbolt's error of a file that could not grow (bbolt db.go, grow), which hides its reason. It comes
// before anything is written.
const resizeFailed = "file resize error"

// fault records a failed transaction. After a full disk bbolt is as before and may be tried again. After anything else,
// a failed fsync above all, nobody knows what is on disk (the kernel may have dropped the pages and forgotten the
// error), so nothing is served until a restart has read the file again. Answers that were to go along are dropped.
func (s *fileStore) fault(w *work, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(w.answers)
	if strings.HasPrefix(err.Error(), resizeFailed) {
		return
	}
	for _, full := range []error{syscall.ENOSPC, syscall.EFBIG, syscall.EDQUOT} {
		if errors.Is(err, full) {
			return
		}
	}
	s.broken = err
}

// forget removes answers from those that wait for a commit, unless a later one has taken their place.
func (s *fileStore) forget(answers map[string]sealedEntry) {
	for k, v := range answers {
		if s.answers[k].serial == v.serial {
			delete(s.answers, k)
		}
	}
}

// keep makes a written batch visible.
func (s *fileStore) keep(w *work) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, a := range w.accounts {
		s.book[name] = a
	}
	if w.group.n > 0 {
		s.book[groupName] = w.group
	}
	for _, l := range w.lines {
		if l.kind == kindFail {
			if s.refused[l.analyst] == nil {
				s.refused[l.analyst] = make(refusals)
			}
			s.refused[l.analyst][l.fingerprint] = l.n
		}
	}
	s.forget(w.answers)
}
