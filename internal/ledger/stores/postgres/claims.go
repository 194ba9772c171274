package postgres

import (
	"context"
	"crypto/rand"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/stores/answers"
)

// A claim says that a proxy has charged a question and is going to answer it. It is a row of the answers' table with
// the proxy's mark in the place of a sealed answer, which is longer. The charge's transaction writes it, under the lock
// on the analyst's account, and nobody else asks the analyst's questions: so of several proxies one gets it. It ends
// with the answer, by GiveUp, or after ledger.Lease by the server's clock. No privacy rests on it (docs/privacy.md
// P23a).

// markBytes is the length of a mark. The shortest sealed answer has a nonce of 12 bytes and a tag of 16.
const markBytes = 16

func newMark() []byte {
	mark := make([]byte, markBytes)
	_, _ = rand.Read(mark) // never fails: it ends the program instead
	return mark
}

// askedSQL finds which questions are answered, or claimed.
const askedSQL = `SELECT hash FROM dpproxy_ledger.answer WHERE hash = ANY ($1)
	AND expires > CASE WHEN octet_length(sealed) = 16 THEN clock_timestamp() ELSE $2 END`

// claimSQL leaves an answer that was stored since then: it was late, and its claim was over.
const claimSQL = `INSERT INTO dpproxy_ledger.answer SELECT hash, clock_timestamp() + $2::int8 * interval '1 ms', $3
	FROM unnest($1::bytea[]) hash ON CONFLICT (hash) DO UPDATE SET expires = excluded.expires, sealed = excluded.sealed
	WHERE octet_length(answer.sealed) = 16 OR answer.expires <= $4`

// questions returns the hashes of what the charges pay for.
func questions(charges []ledger.Charge) (hashes [][]byte) {
	for _, c := range charges {
		if c.Question != "" {
			hashes = append(hashes, []byte(answers.Hash(c.Question)))
		}
	}
	return hashes
}

// claim queues the claims of questions that are charged.
func (s *Store) claim(p *pipeline, hashes [][]byte) {
	if len(hashes) > 0 {
		p.exec(claimSQL, hashes, ledger.Lease.Milliseconds(), s.mark, s.now())
	}
}

// GiveUp ends a claim, in the background. If that fails, others wait until the claim is over.
func (s *Store) GiveUp(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return
	}
	s.serving.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), exchangeTimeout)
		defer cancel()
		if _, err := s.pool.Exec(ctx, `DELETE FROM dpproxy_ledger.answer WHERE hash = $1 AND sealed = $2`,
			[]byte(answers.Hash(key)), s.mark); err != nil {
			s.Rules.Load().Log.Warn("a question that has no answer stays claimed", "for", ledger.Lease, "error", err)
		}
	})
}
