package scale

import (
	"math/rand/v2"
	"slices"
)

// charges simulates the ledger in PostgreSQL under a rate of charges, each of some analyst at some proxy. A proxy
// commits in one transaction what has queued up while its last one ran. A transaction locks the accounts that it
// charges, and the one of all analysts together where the policy has a budget for them (together); it decides in the
// proxy, writes, and flushes.
func charges(site Site, m Measured, cores int, rate float64, together bool, statements int, seed uint64) Latency {
	sim := &simulation{}
	l := &ledgerServer{
		figures: m, sim: sim, cores: newStation(sim, cores), log: disk{sim: sim, flush: m.Flush},
		accounts: make(map[int]*station),
	}
	if together {
		l.together = newStation(sim, 1)
	}
	random := rand.New(rand.NewPCG(seed, 2))
	proxies := make([]chargingProxy, site.Proxies)
	at := 0.0
	for range statements {
		at += random.ExpFloat64() / rate
		sim.after(at, func() {
			p := &proxies[random.IntN(site.Proxies)]
			p.queue = append(p.queue, request{random.IntN(site.Analysts), sim.now})
			if !p.busy {
				l.commit(p)
			}
		})
	}
	sim.run()
	out := quantiles(l.latencies)
	out.Busy = l.cores.busy / (sim.now * float64(cores))
	out.Batch = float64(statements) / float64(l.transactions)
	return out
}

// ledgerServer is a PostgreSQL server with a ledger that proxies share.
type ledgerServer struct {
	figures      Measured
	sim          *simulation
	cores        *station
	log          disk
	together     *station // the account of all analysts together; nil: no budget bounds it
	accounts     map[int]*station
	latencies    []float64
	transactions int
}

// chargingProxy has one transaction at a time.
type chargingProxy struct {
	queue []request
	busy  bool
}

// request is a charge and when it was asked for.
type request struct {
	analyst int
	at      float64
}

// commit runs transactions of a proxy until nothing waits.
func (l *ledgerServer) commit(p *chargingProxy) {
	batch := p.queue
	p.queue, p.busy = nil, len(batch) > 0
	if !p.busy {
		return
	}
	l.transactions++
	m, half, locks := l.figures, l.figures.RoundTrip/2, l.locks(batch)
	n := float64(len(batch))
	l.sim.after(half, func() { // BEGIN, the locks
		l.cores.serve(m.Begin, func() {
			enterAll(locks, func() {
				l.sim.after(m.RoundTrip+n*m.Decide, func() { // the accounts to the proxy, the records from it
					l.cores.serve(n*m.Insert, func() {
						l.log.sync(func() {
							for _, lock := range locks {
								lock.leave()
							}
							l.sim.after(half, func() {
								for _, r := range batch {
									l.latencies = append(l.latencies, l.sim.now-r.at)
								}
								l.commit(p)
							})
						})
					})
				})
			})
		})
	})
}

// locks returns those of a batch in the order in which every transaction takes them.
func (l *ledgerServer) locks(batch []request) []*station {
	var names []int
	for _, r := range batch {
		names = append(names, r.analyst)
	}
	slices.Sort(names)
	var locks []*station
	for _, name := range slices.Compact(names) {
		if l.accounts[name] == nil {
			l.accounts[name] = newStation(l.sim, 1)
		}
		locks = append(locks, l.accounts[name])
	}
	if l.together != nil {
		locks = append(locks, l.together)
	}
	return locks
}

// enterAll takes locks one after the other.
func enterAll(locks []*station, then func()) {
	if len(locks) == 0 {
		then()
		return
	}
	locks[0].enter(func() { enterAll(locks[1:], then) })
}
