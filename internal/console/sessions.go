package console

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"sync"
	"time"
)

const (
	idleTime = 30 * time.Minute // after which a session that asks nothing ends
	fullTime = 10 * time.Hour   // after which it ends in any case
	// maxAdministrators bounds their sessions, and maxOfAnalyst those of each analyst: one more ends the one that has been
	// silent for longest.
	maxAdministrators = 16
	maxOfAnalyst      = 16
	// keptAnswers is how many answers a session holds for download.
	keptAnswers = 2
)

// session is a browser that has logged in.
type session struct {
	analyst  string  // empty: an administrator
	database string  // that the analyst asks
	client   *client // nil: an administrator
	host     string  // the address that logged in, which alone may use it
	csrf     string
	created  time.Time

	mu      sync.Mutex
	used    time.Time
	serial  int
	answers map[int]*answer
	ended   bool
}

// administrator says whose session it is. There is no way from one kind to the other but a login.
func (s *session) administrator() bool { return s.client == nil }

// keep stores the answers of a question for download, nil for none: one in the place of the oldest, several in the
// place of all others.
func (s *session) keep(list []*answer) (ids []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	oldest := s.serial
	if len(list) == 1 {
		oldest -= keptAnswers - 1
	}
	s.drop(oldest)
	for _, a := range list {
		s.serial++
		if a != nil {
			s.store(s.serial, a)
		}
		ids = append(ids, s.serial)
	}
	return ids
}

func (s *session) store(id int, a *answer) {
	if s.ended {
		return
	}
	if s.answers == nil {
		s.answers = map[int]*answer{}
	}
	s.answers[id] = a.hold()
}

// drop forgets answers up to a number.
func (s *session) drop(last int) {
	for id, a := range s.answers {
		if id <= last {
			a.release()
			delete(s.answers, id)
		}
	}
}

// answer returns one that is kept, for its caller to release.
func (s *session) answer(id int) *answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answers[id].hold()
}

// forget drops the answers that are kept.
func (s *session) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.answers {
		a.release()
	}
	clear(s.answers)
}

// expired reports whether the session has ended by time. One whose question is being answered is not silent.
func (s *session) expired(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	busy := s.client != nil && len(s.client.turn) == 0
	return now.Sub(s.used) > idleTime && !busy || now.Sub(s.created) > fullTime
}

func (s *session) touch(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used = now
}

// end closes the connection behind the session, and keeps nothing any more.
func (s *session) end() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.forget()
	if s.client != nil {
		s.client.close()
	}
}

// sessions holds the sessions by the hash of their identifier: what the memory shows cannot be sent.
type sessions struct {
	now func() time.Time

	mu   sync.Mutex
	open map[[sha256.Size]byte]*session
}

func newSessions() *sessions {
	return &sessions{now: time.Now, open: map[[sha256.Size]byte]*session{}}
}

// begin makes a session, with an identifier that nobody has seen. ok is false where there are too many.
func (s *sessions) begin(x *session) (id string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !x.administrator() {
		s.makeRoom(x.analyst)
	}
	if x.administrator() {
		count := 0
		for _, other := range s.open {
			if other.administrator() {
				count++
			}
		}
		if count >= maxAdministrators {
			return "", false
		}
	}
	id, x.csrf = rand.Text()+rand.Text(), rand.Text()
	x.created = s.now()
	x.used = x.created
	s.open[sha256.Sum256([]byte(id))] = x
	return id, true
}

// makeRoom ends an analyst's session that has been silent for longest, if there are too many.
func (s *sessions) makeRoom(analyst string) {
	var oldest [sha256.Size]byte
	var least time.Time
	count := 0
	for key, x := range s.open {
		if x.administrator() || x.analyst != analyst {
			continue
		}
		x.mu.Lock()
		if count++; count == 1 || x.used.Before(least) {
			oldest, least = key, x.used
		}
		x.mu.Unlock()
	}
	if count >= maxOfAnalyst {
		s.open[oldest].end()
		delete(s.open, oldest)
	}
}

// find returns the session of a request; nil: it has none, or it has ended, or it is another client's.
func (s *sessions) find(id, host string) *session {
	key := sha256.Sum256([]byte(id))
	s.mu.Lock()
	x := s.open[key]
	s.mu.Unlock()
	if x == nil || x.host != host {
		return nil
	}
	if x.expired(s.now()) || !x.administrator() && x.client.lost.Load() {
		s.finish(id)
		return nil
	}
	x.touch(s.now())
	return x
}

// finish ends a session.
func (s *sessions) finish(id string) {
	key := sha256.Sum256([]byte(id))
	s.mu.Lock()
	x := s.open[key]
	delete(s.open, key)
	s.mu.Unlock()
	if x != nil {
		x.end()
	}
}

// sweep ends what has expired; all: everything.
func (s *sessions) sweep(all bool) {
	s.mu.Lock()
	var ended []*session
	for key, x := range s.open {
		if all || x.expired(s.now()) {
			ended = append(ended, x)
			delete(s.open, key)
		}
	}
	s.mu.Unlock()
	for _, x := range ended {
		x.end()
	}
}

// mayAct reports whether a request that changes something comes from a page of this session.
func (s *session) mayAct(r *http.Request) bool {
	return subtle.ConstantTimeCompare([]byte(r.PostFormValue("csrf")), []byte(s.csrf)) == 1
}
