package ledger

import (
	"maps"
	"time"
)

// answerDelay is how long an answer may wait in memory for a commit that writes it too. A crash that loses an answer costs
// its analyst another charge; it never gives an answer without a charge.
const answerDelay = 100 * time.Millisecond

// run commits whatever has queued up until the store is closed. Under load one fsync carries many charges.
func (s *fileStore) run() {
	defer close(s.stopped)
	for {
		s.mu.Lock()
		waiting, answers, closing := s.queue, len(s.answers) > 0, s.closing
		s.queue = nil
		s.mu.Unlock()
		switch {
		case len(waiting) > 0 || closing && answers:
			s.commit(waiting)
		case closing:
			return
		case answers:
			select {
			case <-s.work:
			case <-time.After(answerDelay):
				s.commit(nil)
			}
		default:
			<-s.work
		}
	}
}

// commit decides requests on copies of the accounts, writes the resulting entries in one transaction, and only then keeps
// the copies and replies. If the transaction fails, no copy is kept and every caller gets 58030.
func (s *fileStore) commit(requests []*request) {
	b := s.begin()
	replies := make([]error, len(requests))
	for i, r := range requests {
		replies[i] = ClientError(b.rules.Log, b.decide(r))
	}
	b.rules.Reached("decided")
	if len(b.entries) > 0 || len(b.answers) > 0 {
		if err := s.write(b); err != nil {
			s.abandon(b, err)
			for i := range replies {
				if replies[i] == nil {
					replies[i] = Unavailable(b.rules.Log, "charging", err)
				}
			}
		} else {
			s.keep(b)
		}
	}
	b.rules.Reached("committed")
	for i, r := range requests {
		r.done <- replies[i]
	}
}

// batch is what one transaction writes: entries, the accounts as they will be, and answers.
type batch struct {
	store    *fileStore
	rules    *rules
	now      time.Time
	accounts map[string]account
	group    account
	entries  []entry
	answers  map[string]pendingAnswer
}

func (s *fileStore) begin() *batch {
	b := &batch{store: s, rules: s.rules.Load(), accounts: make(map[string]account)}
	s.mu.Lock()
	defer s.mu.Unlock()
	b.group = s.accounts[groupName]
	b.now = clock(s.now(), &b.group)
	b.answers = maps.Clone(s.answers)
	return b
}

func (s *fileStore) now() time.Time { return s.rules.Load().Time(time.Now()) }

// account returns the account as the batch has changed it so far.
func (b *batch) account(name string) account {
	if a, ok := b.accounts[name]; ok {
		return a
	}
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	return b.store.account(name)
}

// account returns the account as it is on disk. The caller holds mu.
func (s *fileStore) account(name string) account {
	if a, ok := s.accounts[name]; ok {
		return a
	}
	return newAccount(name)
}

// decide runs a request on copies of its accounts and takes their changes into the batch, unless it fails.
func (b *batch) decide(r *request) error {
	refused := func(fingerprint string, cleared uint64) bool { return b.refuses(r.analyst, fingerprint, cleared) }
	if r.analyst == groupName {
		k := newBook(b.rules, b.now, b.group, nil, refused)
		if err := r.decide(k); err != nil {
			return err
		}
		b.entries, b.group = append(b.entries, k.entries...), k.account
		return nil
	}
	group := b.group
	k := newBook(b.rules, b.now, b.account(r.analyst), &group, refused)
	if err := r.decide(k); err != nil {
		return err
	}
	b.entries, b.group = append(b.entries, k.entries...), *k.group
	b.accounts[r.analyst] = k.account
	return nil
}

// refuses looks at the failures on disk and at those of this batch.
func (b *batch) refuses(analyst, fingerprint string, cleared uint64) bool {
	for _, e := range b.entries {
		if e.kind == kindFail && e.analyst == analyst && e.fingerprint == fingerprint && e.n > cleared {
			return true
		}
	}
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	return b.store.refused.refuses(analyst, fingerprint, cleared)
}
