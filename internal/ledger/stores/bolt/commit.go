package bolt

import (
	"maps"
	"time"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/accounting"
	"github.com/dpproxy/dpproxy/internal/ledger/stores/gather"
)

// answerDelay is how long an answer may wait in memory for a commit that writes it too. A crash that loses an answer
// costs its analyst another charge; it never gives an answer without a charge.
const answerDelay = 100 * time.Millisecond

// run commits whatever has queued up until the store is closed. Under load one fsync carries many charges.
func (s *Store) run() {
	defer close(s.stopped)
	var sessions gather.Gather
	for {
		if s.queued() > 0 {
			sessions.Wait(s.queued, s.work)
		}
		s.mu.Lock()
		waiting, answers, closing := s.queue, len(s.answers) > 0, s.closing
		s.queue = nil
		s.mu.Unlock()
		switch {
		case len(waiting) > 0 || closing && answers:
			began := time.Now()
			s.commit(waiting)
			sessions.Committed(len(waiting), time.Since(began))
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

// queued is how many requests wait.
func (s *Store) queued() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue)
}

// commit decides requests on copies of the accounts, writes the resulting entries in one transaction, and only then
// keeps the copies and replies. If the transaction fails, no copy is kept and every caller gets 58030.
func (s *Store) commit(requests []*request) {
	b := s.begin()
	replies := make([]error, len(requests))
	for i, r := range requests {
		replies[i] = ledger.ClientError(b.rules.Log, b.decide(r))
	}
	b.rules.Reached("decided")
	if len(b.entries) > 0 || len(b.answers) > 0 {
		if err := s.write(b); err != nil {
			s.abandon(b, err)
			for i := range replies {
				if replies[i] == nil {
					replies[i] = ledger.Unavailable(b.rules.Log, "charging", err)
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

// batch holds what one transaction writes: entries, the accounts with these entries, and answers.
type batch struct {
	store    *Store
	rules    *accounting.Rules
	now      time.Time
	accounts map[string]accounting.Account
	group    accounting.Account
	entries  []accounting.Entry
	answers  map[string]pendingAnswer
}

// begin starts a batch with the answers that wait.
func (s *Store) begin() *batch {
	b := &batch{store: s, rules: s.Rules.Load(), accounts: make(map[string]accounting.Account)}
	s.mu.Lock()
	defer s.mu.Unlock()
	b.group = s.accounts[accounting.GroupName]
	b.now = accounting.NotBefore(s.now(), &b.group)
	b.answers = maps.Clone(s.answers)
	return b
}

func (s *Store) now() time.Time { return s.Rules.Load().Time(time.Now()) }

// account returns the account as the batch has changed it so far.
func (b *batch) account(name string) accounting.Account {
	if a, ok := b.accounts[name]; ok {
		return a
	}
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	return b.store.account(name)
}

// account returns the account as it is on disk. The caller holds mu.
func (s *Store) account(name string) accounting.Account {
	if a, ok := s.accounts[name]; ok {
		return a
	}
	return accounting.NewAccount(name)
}

// decide runs a request on copies of its accounts and takes their changes into the batch, unless it fails.
func (b *batch) decide(r *request) error {
	if r.Analyst == accounting.GroupName {
		k := accounting.NewBook(b.rules, b.now, b.group, nil)
		if err := r.Decide(k); err != nil {
			return err
		}
		b.entries, b.group = append(b.entries, k.Entries...), k.Account
		return nil
	}
	group := b.group
	k := accounting.NewBook(b.rules, b.now, b.account(r.Analyst), &group)
	if err := r.Decide(k); err != nil {
		return err
	}
	b.entries, b.group = append(b.entries, k.Entries...), *k.Group
	b.accounts[r.Analyst] = k.Account
	return nil
}
