package postgres

import (
	"time"

	"github.com/dpproxy/dpproxy/internal/ledger/accounting"
	"github.com/dpproxy/dpproxy/internal/ledger/stores/gather"
)

// most is how many requests one transaction takes, so that it stays short.
const most = 256

// lead commits the requests of all analysts, in one transaction after the other, until none waits. An account that
// somebody else has locked keeps nobody but its own analyst waiting: it is served apart.
func (s *Store) lead() {
	var sessions gather.Gather
	for {
		sessions.Wait(s.queued, s.work)
		work, size := s.take()
		if work == nil {
			return
		}
		began := time.Now()
		locked := s.commit(work, false)
		sessions.Committed(size, time.Since(began))
		s.mu.Lock()
		for analyst, requests := range locked {
			s.queues[analyst] = append(requests, s.queues[analyst]...)
			s.serveApart(analyst)
		}
		s.mu.Unlock()
	}
}

// queued is how many requests wait for the next transaction.
func (s *Store) queued() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for analyst, requests := range s.queues {
		if !s.apart[analyst] {
			n += len(requests)
		}
	}
	return n
}

// take takes requests for the next transaction; nil: there are none, and lead ends.
func (s *Store) take() (work map[string][]*request, size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	work = make(map[string][]*request)
	for analyst, requests := range s.queues {
		switch {
		case s.apart[analyst]:
		case analyst == accounting.GroupName: // every other transaction locks it last
			s.serveApart(analyst)
		case size < most:
			n := min(len(requests), most-size)
			size += n
			if work[analyst] = requests[:n:n]; n == len(requests) {
				delete(s.queues, analyst)
			} else {
				s.queues[analyst] = requests[n:]
			}
		}
	}
	if size == 0 {
		s.leading = false
		return nil, 0
	}
	return work, size
}

// serveApart has the requests of one account committed by themselves. Half of the connections are for such transactions
// at most, which may have to wait for their locks. The caller holds mu.
func (s *Store) serveApart(analyst string) {
	s.apart[analyst] = true
	s.serving.Go(func() {
		s.waiters <- struct{}{}
		defer func() { <-s.waiters }()
		for {
			s.mu.Lock()
			requests := s.queues[analyst]
			delete(s.queues, analyst)
			if len(requests) == 0 {
				delete(s.apart, analyst)
			}
			s.mu.Unlock()
			if len(requests) == 0 {
				return
			}
			s.commit(map[string][]*request{analyst: requests}, true)
		}
	})
}
