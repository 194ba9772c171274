// Package gather makes commits worth their sync: each waits a little for the sessions that the last one has answered.
package gather

import "time"

// Gather decides how long a commit waits for more requests. Sessions that have just been answered may be about to ask
// again; without a wait the first of them would have a commit of its own, and all others would wait for that.
type Gather struct {
	size int           // of the last commit
	took time.Duration // by the last commit
}

// Wait returns when as many requests wait as the last commit had, or after a quarter of the time that it took. Where
// sessions are alone, or have other things to do, it does not wait again. work gets a token whenever a request comes.
func (g *Gather) Wait(waiting func() int, work <-chan struct{}) {
	if g.size < 2 {
		return
	}
	limit := time.NewTimer(g.took / 4)
	defer limit.Stop()
	for waiting() < g.size {
		select {
		case <-work:
		case <-limit.C:
			return
		}
	}
}

// Committed notes what a commit had and took.
func (g *Gather) Committed(size int, took time.Duration) { g.size, g.took = size, took }
