package wire

import (
	"net"
	"slices"
	"sync"

	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// maxHalfOpen bounds how many connections may be on their way to a session at the same time, where an address may not
// have more sessions.
const maxHalfOpen = 256

// slots counts sessions within the limits, and connections that have not authenticated beside them: however many of
// those there are, no session ends for them. When they are too many, one makes room for the next (mostCommon).
type slots struct {
	limits  Limits
	refused func(reason string)

	mu       sync.Mutex
	sessions map[string]int // by host
	total    int
	halfOpen map[string][]*conn // by host, the oldest first
	waiting  int
	entered  int // connections so far
}

func newSlots(limits Limits, refused func(reason string)) *slots {
	return &slots{limits: limits, refused: refused, sessions: map[string]int{}, halfOpen: map[string][]*conn{}}
}

// enter takes a new connection in. The one that it returns, if any, is to be closed for it.
func (s *slots) enter(c *conn) (evicted *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting >= max(maxHalfOpen, s.limits.PerAddress) {
		evicted = s.mostCommon()
		s.forget(evicted)
	}
	s.entered++
	c.entered, c.network = s.entered, networkOf(c.host)
	s.halfOpen[c.host] = append(s.halfOpen[c.host], c)
	s.waiting++
	return evicted
}

// mostCommon is the oldest connection of the address that has most, among several of the one whose network has most:
// who can choose addresses within a network takes no room from the others.
func (s *slots) mostCommon() (oldest *conn) {
	networks := map[string]int{}
	for _, list := range s.halfOpen {
		networks[list[0].network] += len(list)
	}
	var most []int
	for _, list := range s.halfOpen {
		first := list[0]
		if rank := []int{len(list), networks[first.network], -first.entered}; slices.Compare(rank, most) > 0 {
			oldest, most = first, rank
		}
	}
	return oldest
}

// forget takes a connection from those that are half open, and says whether it was one.
func (s *slots) forget(c *conn) bool {
	list := s.halfOpen[c.host]
	i := slices.Index(list, c)
	if i < 0 {
		return false
	}
	if s.waiting--; len(list) == 1 {
		delete(s.halfOpen, c.host)
	} else {
		s.halfOpen[c.host] = slices.Delete(list, i, i+1)
	}
	return true
}

// room refuses one more session beyond the limits.
func (s *slots) room(host string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refusal(host)
}

// refusal names the limit that is reached; nil: none is.
func (s *slots) refusal(host string) error {
	switch {
	case s.total >= s.limits.Connections:
		s.refused("total")
		return fatal(pgerr.TooManyConnections, "sorry, too many clients already")
	case s.sessions[host] >= s.limits.PerAddress:
		s.refused("address")
		return fatal(pgerr.TooManyConnections, "too many connections from this address")
	}
	return nil
}

// authenticated ends a connection's time among those that are half open.
func (s *slots) authenticated(c *conn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.forget(c) {
		return net.ErrClosed // it has made room for another
	}
	return nil
}

// take gives a connection the slot of a session, unless it has one.
func (s *slots) take(c *conn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.slot {
		return nil
	}
	if err := s.refusal(c.host); err != nil {
		return err
	}
	c.slot = true
	s.total++
	s.sessions[c.host]++
	return nil
}

// give takes a connection's slot back.
func (s *slots) give(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !c.slot {
		return
	}
	c.slot = false
	s.total--
	if s.sessions[c.host]--; s.sessions[c.host] == 0 {
		delete(s.sessions, c.host)
	}
}

// leave forgets a connection that has ended.
func (s *slots) leave(c *conn) {
	s.give(c)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(c)
}
