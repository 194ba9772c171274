package wire

import "sync"

// admission is what the limits say of a new connection.
type admission int

const (
	admitted admission = iota
	refusedTotal
	refusedAddress
	// refusedSilently is for when even the polite refusals are too many.
	refusedSilently
)

// maxPolite bounds how many connections over the limits wait for an error at the same time; further ones are just closed.
const maxPolite = 32

// slots counts connections before anything is read from them.
type slots struct {
	limits Limits

	mu      sync.Mutex
	total   int
	polite  int
	perHost map[string]int
}

func newSlots(limits Limits) *slots {
	return &slots{limits: limits, perHost: map[string]int{}}
}

// acquire decides on a connection; the caller passes the answer to release when it ends.
func (s *slots) acquire(host string) admission {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := admitted
	switch {
	case s.total >= s.limits.Connections:
		answer = refusedTotal
	case s.perHost[host] >= s.limits.PerAddress:
		answer = refusedAddress
	}
	if answer == admitted {
		s.total++
		s.perHost[host]++
		return admitted
	}
	if s.polite >= maxPolite {
		return refusedSilently
	}
	s.polite++
	return answer
}

func (s *slots) release(host string, a admission) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a != admitted {
		s.polite--
		return
	}
	s.total--
	if s.perHost[host]--; s.perHost[host] == 0 {
		delete(s.perHost, host)
	}
}
