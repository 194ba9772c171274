package scale

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"
)

// TestPage holds docs/scale.md to the simulation.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/scale.md")
	if err != nil {
		t.Fatal(err)
	}
	from, to, err := part(page, "simulations")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(page[from:to]), "\n"+Simulations(Large, Figures)+"\n"; got != want {
		t.Errorf("docs/scale.md has\n%s\nwant\n%s\nwrite it with: go run ./tests/bench scale -write docs/scale.md", got, want)
	}
}

// TestStationFollowsTheory compares the mean wait of a queue with one server, Poisson arrivals and equal services with
// what Pollaczek and Khinchine proved: load · service / (2 (1 − load)). The seed is fixed.
func TestStationFollowsTheory(t *testing.T) {
	for _, load := range []float64{0.3, 0.6, 0.9} {
		random := rand.New(rand.NewPCG(7, 7))
		sim := &simulation{}
		server := newStation(sim, 1)
		const customers = 400_000
		waited, at := 0.0, 0.0
		for range customers {
			at += random.ExpFloat64() / load
			sim.after(at, func() {
				came := sim.now
				server.serve(1, func() { waited += sim.now - came - 1 })
			})
		}
		sim.run()
		if got, want := waited/customers, load/(2*(1-load)); math.Abs(got/want-1) > 0.05 {
			t.Errorf("load %v: mean wait %v, theory %v", load, got, want)
		}
		if got := server.busy / sim.now; math.Abs(got-load) > 0.01 {
			t.Errorf("busy %v, load %v", got, load)
		}
	}
}

// TestDiskSharesFlushes: who asks during a flush waits for the next one, and all of those share it.
func TestDiskSharesFlushes(t *testing.T) {
	sim := &simulation{}
	d := disk{sim: sim, flush: 1}
	var ends []float64
	for _, at := range []float64{0, 0.25, 0.5, 3} {
		sim.after(at, func() { d.sync(func() { ends = append(ends, sim.now) }) })
	}
	sim.run()
	for i, want := range []float64{1, 2, 2, 4} {
		if ends[i] != want {
			t.Fatalf("flushed at %v", ends)
		}
	}
}

// TestOneLockBoundsCharges: under a common budget, transactions follow each other, one round trip and one flush apart.
func TestOneLockBoundsCharges(t *testing.T) {
	const n = 5000
	l := charges(Large, Figures, 16, 1e6, true, n, 3)
	if perTransaction := Figures.RoundTrip + Figures.Flush; l.P99 < perTransaction*n/l.Batch*0.9 {
		t.Errorf("%d charges at once in transactions of %.1f take %v s, less than one after the other", n, l.Batch, l.P99)
	}
	if free := charges(Large, Figures, 16, 1e6, false, n, 3); free.P99 > l.P99/2 {
		t.Errorf("independent accounts take %v s, one lock %v s", free.P99, l.P99)
	}
}
