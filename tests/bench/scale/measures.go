package scale

import (
	"math"
	"math/rand/v2"
	"slices"
)

// spread is the standard deviation of the logarithm of a task's time: tasks of equal shards take about a fifth more or
// less.
const spread = 0.2

// Latency is the outcome of a simulation, in seconds.
type Latency struct {
	Median, P99 float64
	Busy        float64 // share of the time in which the cores of the workers, or the ledger's server, worked
	Batch       float64 // charges in one transaction
}

// measures simulates measure queries that arrive at random with the given rate: each is one task per shard, and is
// complete when the coordinator has merged what the last of them sends. share is the part of the rows that a query
// reads, row the CPU time of one, and groups the number of partial groups that each task returns.
func measures(site Site, m Measured, rate, share, row float64, groups, statements int, seed uint64) Latency {
	random := rand.New(rand.NewPCG(seed, 1))
	sim := &simulation{}
	coordinator := newStation(sim, site.Cores)
	workers := make([]*station, site.Workers)
	for i := range workers {
		workers[i] = newStation(sim, site.Cores)
	}
	task := site.Rows * share / float64(site.Workers*site.Shards) * row
	var latencies []float64
	at := 0.0
	for range statements {
		at += random.ExpFloat64() / rate
		sim.after(at, func() {
			began, left := sim.now, site.Workers*site.Shards
			merge := m.Merge * float64(groups*left)
			coordinator.serve(m.Plan, func() {
				sim.after(m.RoundTrip, func() {
					for _, w := range workers {
						for range site.Shards {
							w.serve(task*math.Exp(spread*random.NormFloat64()-spread*spread/2), func() {
								if left--; left == 0 {
									coordinator.serve(merge, func() { latencies = append(latencies, sim.now-began) })
								}
							})
						}
					}
				})
			})
		})
	}
	sim.run()
	out := quantiles(latencies)
	for _, w := range workers {
		out.Busy += w.busy / (sim.now * float64(site.Cores*site.Workers))
	}
	return out
}

// capacity is the rate at which the workers have nothing to spare, per second.
func capacity(site Site, share, row float64) float64 {
	return float64(site.Workers*site.Cores) / (site.Rows * share * row)
}

func quantiles(latencies []float64) Latency {
	slices.Sort(latencies)
	n := len(latencies)
	return Latency{Median: latencies[n/2], P99: latencies[n*99/100]}
}
