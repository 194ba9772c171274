package ledger

import (
	"bytes"
	"context"
	"encoding/binary"
	"time"

	"go.etcd.io/bbolt"
)

// sealedEntry is an answer that waits for the next commit.
type sealedEntry struct {
	serial  uint64 // of all answers since the start
	expires time.Time
	sealed  []byte
}

// purgeBatch is how many expired answers one commit removes at most, so that no commit grows long.
const purgeBatch = 64

// fillAnswers writes the batch's answers and removes some that have expired by now (8 bytes, as in bucketExpiry).
func (w *work) fillAnswers(tx *bbolt.Tx, now []byte) error {
	answers, expiry := tx.Bucket(bucketAnswers), tx.Bucket(bucketExpiry)
	for hash, e := range w.answers {
		if old := answers.Get([]byte(hash)); old != nil {
			if err := expiry.Delete(append(bytes.Clone(old[:8]), hash...)); err != nil {
				return err
			}
		}
		until := binary.BigEndian.AppendUint64(nil, uint64(e.expires.UnixMicro()))
		if err := answers.Put([]byte(hash), append(bytes.Clone(until), e.sealed...)); err != nil {
			return err
		}
		if err := expiry.Put(append(until, hash...), nil); err != nil {
			return err
		}
	}
	var expired [][]byte
	cursor := expiry.Cursor()
	for k, _ := cursor.First(); k != nil && bytes.Compare(k[:8], now) <= 0 && len(expired) < purgeBatch; k, _ = cursor.Next() {
		expired = append(expired, bytes.Clone(k))
	}
	for _, k := range expired {
		if err := expiry.Delete(k); err != nil {
			return err
		}
		if err := answers.Delete(k[8:]); err != nil {
			return err
		}
	}
	return nil
}

// PutAnswer keeps an answer. It is readable at once and on disk with the next commit, within answerDelay.
func (s *fileStore) PutAnswer(_ context.Context, key string, answer []byte, ttl time.Duration) error {
	if ttl <= 0 {
		return nil
	}
	hash, expires := answerHash(key), s.now().Add(ttl).Truncate(time.Microsecond)
	sealed := s.sealer.seal(hash, expires, answer)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil || s.closing {
		return nil // the charge was refused or the proxy stops: nobody will ask
	}
	s.serial++
	s.answers[hash] = sealedEntry{serial: s.serial, expires: expires, sealed: sealed}
	s.nudge()
	return nil
}

// Answer returns what PutAnswer kept, while it lives.
func (s *fileStore) Answer(_ context.Context, key string) ([]byte, bool, error) {
	hash := answerHash(key)
	s.mu.Lock()
	e, waiting := s.answers[hash]
	broken, closed := s.broken, s.closing
	s.mu.Unlock()
	if closed {
		broken = errClosed
	}
	if broken != nil {
		return nil, false, errUnavailable(s.rules.Load().Log, "reading an answer", broken)
	}
	if !waiting {
		err := s.db.View(func(tx *bbolt.Tx) error {
			if v := tx.Bucket(bucketAnswers).Get([]byte(hash)); len(v) > 8 {
				e = sealedEntry{expires: time.UnixMicro(int64(binary.BigEndian.Uint64(v))), sealed: bytes.Clone(v[8:])}
			}
			return nil
		})
		if err != nil {
			return nil, false, errUnavailable(s.rules.Load().Log, "reading an answer", err)
		}
	}
	if e.sealed == nil || !s.now().Before(e.expires) {
		return nil, false, nil
	}
	answer, ok := s.sealer.open(s.rules.Load().Log, hash, e.expires, e.sealed)
	return answer, ok, nil
}
