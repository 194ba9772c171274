package ledger

import (
	"context"
	"errors"
	"time"
)

// request is one caller's wish; run answers it on done once its effect is on disk.
type request struct {
	analyst      string
	fingerprints []string          // that decide asks about
	decide       func(*book) error // on the account of analyst; its records are kept if it returns nil
	done         chan error
}

// answerDelay is how long an answer may wait in memory for a commit that takes it along. An answer that a crash loses
// costs its analyst another charge, never the other way round.
const answerDelay = 100 * time.Millisecond

var errClosed = errors.New("the ledger is closed")

// do hands a request to run and waits for its commit. A caller who gives up leaves the request where it is.
func (s *fileStore) do(ctx context.Context, doing, analyst string, decide func(*book) error) error {
	if ctx.Err() != nil {
		return errGivenUp(ctx)
	}
	r := &request{analyst: analyst, decide: decide, done: make(chan error, 1)}
	s.mu.Lock()
	err := s.broken
	if s.closing {
		err = errClosed
	}
	if err == nil {
		s.queue = append(s.queue, r)
	}
	s.mu.Unlock()
	if err != nil {
		return errUnavailable(s.rules.Load().Log, doing, err)
	}
	s.nudge()
	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
		return errGivenUp(ctx)
	}
}

func (s *fileStore) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run commits whatever has queued up, over and over: under load one fsync carries many charges.
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
			case <-s.wake:
			case <-time.After(answerDelay):
				s.commit(nil)
			}
		default:
			<-s.wake
		}
	}
}

// commit decides a batch on copies of the accounts, writes the records that come of it in one transaction, and only
// then keeps the copies and answers. If the transaction fails, no copy is kept and every caller gets 58030.
func (s *fileStore) commit(batch []*request) {
	w := s.begin()
	replies := make([]error, len(batch))
	for i, r := range batch {
		replies[i] = w.decide(r)
	}
	w.rules.at("decided")
	if len(w.lines) > 0 || len(w.answers) > 0 {
		if err := s.write(w); err != nil {
			s.fault(w, err)
			for i := range replies {
				if replies[i] == nil {
					replies[i] = errUnavailable(w.rules.Log, "charging", err)
				}
			}
		} else {
			s.keep(w)
		}
	}
	w.rules.at("committed")
	for i, r := range batch {
		r.done <- replies[i]
	}
}

// work is one batch: the accounts as they will be.
type work struct {
	*fileStore
	rules    *rules
	now      time.Time
	accounts map[string]account
	group    account
	lines    []line
	answers  map[string]sealedEntry
}

func (s *fileStore) begin() *work {
	w := &work{fileStore: s, rules: s.rules.Load(), accounts: make(map[string]account)}
	s.mu.Lock()
	defer s.mu.Unlock()
	w.group = s.book[groupName]
	w.now = clock(s.now(), &w.group)
	w.answers = make(map[string]sealedEntry, len(s.answers))
	for k, v := range s.answers {
		w.answers[k] = v
	}
	return w
}

func (s *fileStore) now() time.Time {
	if c := s.rules.Load().Clock; c != nil {
		return c()
	}
	return time.Now()
}

// account returns the account as the batch has made it so far.
func (w *work) account(name string) account {
	if a, ok := w.accounts[name]; ok {
		return a
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if a, ok := w.book[name]; ok {
		return a
	}
	return account{name: name}
}

func (w *work) decide(r *request) error {
	own, group := w.account(r.analyst), w.group
	b := &book{rules: w.rules, account: own, group: &group, now: clock(w.now, &own, &group)}
	if r.analyst == groupName {
		b.group = nil
		b.account = group
	}
	b.failed = func(fingerprint string, cleared uint64) bool { return w.isRefused(r.analyst, fingerprint, cleared) }
	if err := r.decide(b); err != nil {
		return err
	}
	w.lines = append(w.lines, b.lines...)
	if r.analyst == groupName {
		w.group = b.account
		return nil
	}
	w.accounts[r.analyst], w.group = b.account, *b.group
	return nil
}

// isRefused looks at what is on disk and at what this batch adds.
func (w *work) isRefused(analyst, fingerprint string, cleared uint64) bool {
	for _, l := range w.lines {
		if l.kind == kindFail && l.analyst == analyst && l.fingerprint == fingerprint && l.n > cleared {
			return true
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.refused[analyst][fingerprint] > cleared
}
