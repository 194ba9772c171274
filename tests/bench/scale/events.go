package scale

import "container/heap"

// simulation runs events in the order of their times, in seconds; those of one time in the order in which they were
// added.
type simulation struct {
	now    float64
	events eventHeap
	serial int
}

type event struct {
	at     float64
	serial int
	do     func()
}

type eventHeap []event

func (h eventHeap) Len() int      { return len(h) }
func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *eventHeap) Push(e any)   { *h = append(*h, e.(event)) }
func (h eventHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].serial < h[j].serial
}

func (h *eventHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	*h = old[:len(old)-1]
	return e
}

// after lets something happen later.
func (s *simulation) after(delay float64, do func()) {
	s.serial++
	heap.Push(&s.events, event{s.now + delay, s.serial, do})
}

// run lets everything happen until nothing is left.
func (s *simulation) run() {
	for len(s.events) > 0 {
		e := heap.Pop(&s.events).(event)
		s.now = e.at
		e.do()
	}
}

// station is a number of servers with one queue: first come, first served. The cores of a machine are one, a lock is
// one with a single server.
type station struct {
	sim     *simulation
	free    int
	waiting []func()
	busy    float64 // seconds of service so far
}

func newStation(s *simulation, servers int) *station { return &station{sim: s, free: servers} }

// enter calls then as soon as there is a free server, which stays taken until leave.
func (s *station) enter(then func()) {
	if s.free == 0 {
		s.waiting = append(s.waiting, then)
		return
	}
	s.free--
	then()
}

func (s *station) leave() {
	if len(s.waiting) == 0 {
		s.free++
		return
	}
	next := s.waiting[0]
	s.waiting = s.waiting[1:]
	next()
}

// serve takes a server for some time.
func (s *station) serve(seconds float64, then func()) {
	s.enter(func() {
		s.busy += seconds
		s.sim.after(seconds, func() {
			s.leave()
			then()
		})
	})
}

// disk flushes a log: who asks while it flushes waits for the next flush, and shares it.
type disk struct {
	sim      *simulation
	flush    float64
	flushing bool
	waiting  []func()
}

func (d *disk) sync(then func()) {
	d.waiting = append(d.waiting, then)
	if !d.flushing {
		d.start()
	}
}

func (d *disk) start() {
	served := d.waiting
	d.waiting, d.flushing = nil, len(served) > 0
	if !d.flushing {
		return
	}
	d.sim.after(d.flush, func() {
		for _, then := range served {
			then()
		}
		d.start()
	})
}
