// Package scale says what dpproxy costs beyond the machines that its developers have: 10⁹ rows on 32 workers, 10⁴
// analysts, 100 proxies. Sizes are measured by writing to real ledgers; times come from a discrete-event simulation of
// queues, whose service times were measured on one machine (Measured). docs/scale.md is its output.
package scale

// Measured are service times that `make bench` and the ledger's benchmarks found on 2 cores of a shared virtual
// machine, in seconds, and what a network and a disk of a data centre are assumed to take.
type Measured struct {
	RowOfSum  float64 // CPU of one row of a filtered sum (TPC-H Q6's measure query)
	RowOfMany float64 // CPU of one row of eight aggregates over a join, unfiltered (Q1's)
	Merge     float64 // CPU of one partial group on the coordinator
	Plan      float64 // CPU of planning a measure query over shards, on the coordinator
	Decide    float64 // CPU of one charge in the proxy
	Insert    float64 // CPU of one charge's records on the ledger's server
	Begin     float64 // CPU of one transaction on the ledger's server, without its charges
	Read      float64 // records that `budget verify` adds up, each

	RoundTrip float64 // assumed: between machines of one data centre
	Flush     float64 // assumed: one flush of the log to a solid-state disk
}

// Figures are the ones of docs/scale.md.
var Figures = Measured{
	RowOfSum: 234e-9, RowOfMany: 2.7e-6, Merge: 1e-6, Plan: 4e-3,
	Decide: 5e-6, Insert: 60e-6, Begin: 150e-6, Read: 1.0 / 100e3,
	RoundTrip: 0.5e-3, Flush: 1e-3,
}

// Site is an installation.
type Site struct {
	Analysts, Proxies int
	Rows              float64
	Workers           int     // of main
	Cores             int     // of each worker
	Shards            int     // on each worker: tasks of one measure query there
	PerDay            float64 // statements over private rows of one analyst
	Repeated          float64 // share of them that kept answers give
	BusiestHour       float64 // share of a day's statements in its busiest hour
}

// Large is the installation of docs/scale.md.
var Large = Site{
	Analysts: 10_000, Proxies: 100, Rows: 1e9, Workers: 32, Cores: 16, Shards: 16,
	PerDay: 50, Repeated: 0.7, BusiestHour: 0.15,
}

// charged is the rate of statements that are charged and measured in the busiest hour, per second.
func (s Site) charged() float64 {
	return float64(s.Analysts) * s.PerDay * (1 - s.Repeated) * s.BusiestHour / 3600
}
