package bolt

import (
	"encoding/binary"
	"errors"
	"maps"
	"strings"
	"syscall"

	"go.etcd.io/bbolt"

	"github.com/dpproxy/dpproxy/internal/ledger/accounting"
)

// write commits a batch in one transaction. bbolt syncs twice: the pages, then the page that makes them valid.
func (s *Store) write(b *batch) error {
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
	if err := b.fill(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	b.rules.Reached("written")
	return tx.Commit()
}

// fill puts the batch into the transaction.
func (b *batch) fill(tx *bbolt.Tx) error {
	logs, accounts := tx.Bucket(bucketLog), tx.Bucket(bucketAccounts)
	for _, e := range b.entries {
		log, err := logs.CreateBucketIfNotExists(accountKey(e.Analyst))
		if err != nil {
			return err
		}
		log.FillPercent = keysGrow
		if err := log.Put(recordKey(e.Number), append(e.Payload, e.Chain[:]...)); err != nil {
			return err
		}
		if e.Curve == nil {
			continue
		}
		if err := putCurve(tx, e.CurveID, e.Curve); err != nil {
			return err
		}
	}
	if len(b.entries) > 0 {
		for name, a := range b.accounts {
			if err := accounts.Put(accountKey(name), a.Encode()); err != nil {
				return err
			}
		}
		if b.group.Records > 0 {
			if err := accounts.Put(accountKey(accounting.GroupName), b.group.Encode()); err != nil {
				return err
			}
		}
	}
	return b.fillAnswers(tx, binary.BigEndian.AppendUint64(nil, uint64(b.now.UnixMicro())))
}

// resizeFailed begins bbolt's error of a file that could not grow (bbolt db.go, grow), which hides its reason. bbolt
// has not written anything then.
const resizeFailed = "file resize error"

// abandon gives up a batch whose transaction failed, with its answers. After a full disk bbolt's state is unchanged and
// the next batch may be tried. After any other error, above all a failed fsync, nobody knows what is on disk (the
// kernel may have dropped the pages and forgotten the error), so nothing is served until a restart has read the file
// again.
func (s *Store) abandon(b *batch, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(b.answers)
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

// forget removes answers from those that wait for a commit, unless a later one has taken their place. The caller holds
// mu.
func (s *Store) forget(answers map[string]pendingAnswer) {
	for k, v := range answers {
		if s.answers[k].serial == v.serial {
			delete(s.answers, k)
		}
	}
}

// keep makes a written batch visible.
func (s *Store) keep(b *batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.Copy(s.accounts, b.accounts)
	if b.group.Records > 0 {
		s.accounts[accounting.GroupName] = b.group
	}
	s.forget(b.answers)
}
