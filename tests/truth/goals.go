package main

import "math"

// figure is a measured number with its goal, and what holds today: a run fails where it is worse than that.
type figure struct {
	name    string
	of      func(tally) (value, err float64) // err: its standard error
	percent bool
	goal    string
	most    bool               // today's is the most that it may be, not the least
	today   map[string]float64 // by database; one that is not listed is printed alone
}

// figures are the table. The numbers of today are raised as goals are reached.
var figures = append([]figure{
	{
		name: "questions answered", of: each(func(t tally) int { return t.answered }), goal: "as many as can be",
		today: map[string]float64{"pagila": 32, "chinook": 9, "employee": 18},
	}, {
		name: "of them within 10 %, median over cells", goal: "≥ 23 on Pagila",
		of:    each(func(t tally) int { return t.near }),
		today: map[string]float64{"pagila": 21, "chinook": 1, "employee": 15.5},
	}, {
		name: "cells within 10 %, mean over answers", percent: true,
		of: func(t tally) (float64, float64) { return t.nearCells / float64(t.answered), 0 },
	}, {
		name: "rows shown that are not there", percent: true, goal: "≤ 5 %", most: true,
		of:    func(t tally) (float64, float64) { return share(t.invented, t.shown) },
		today: map[string]float64{"pagila": 0.02, "chinook": 0.01, "employee": 0.01},
	}, {
		name: "the same, mean over answers that show rows", percent: true, goal: "≤ 5 %", most: true,
		of:    func(t tally) (float64, float64) { return t.invention / float64(t.showing), 0 },
		today: map[string]float64{"pagila": 0.02, "chinook": 0.01, "employee": 0.01},
	}, {
		name: "rows that are there and not shown", percent: true, most: true,
		of: func(t tally) (float64, float64) { return share(t.missing, t.existing) },
	}, {
		name: "answers that are off without a word", of: each(func(t tally) int { return t.silent }), goal: "0", most: true,
		today: map[string]float64{"pagila": 1, "chinook": 0.5, "employee": 0.5},
	}, {
		name: "statements of a month", goal: "≥ 60 on Pagila",
		of:    func(t tally) (float64, float64) { return float64(t.statements), 0 },
		today: map[string]float64{"pagila": 17, "chinook": 17, "employee": 16},
	}, {
		name: "printed intervals that hold the truth", percent: true, goal: leastHeld, of: func(t tally) (float64, float64) {
			n, e := all(t.notices), all(t.ends)
			return share(n.held+e.held, n.printed+e.printed)
		},
		today: map[string]float64{"pagila": 0.95, "chinook": 0.94, "employee": 0.95},
	},
}, coverage()...)

const leastHeld = "≥ 94 %"

// coverage has two lines for each kind: of notices, and of columns with ends.
func coverage() (list []figure) {
	today := map[string]float64{"pagila": 0.94, "chinook": 0.94, "employee": 0.94}
	for _, kind := range kinds {
		list = append(list, figure{
			name: kind + ": margins of notices", percent: true, goal: leastHeld, today: today,
			of: func(t tally) (float64, float64) { return share(t.notices[kind].held, t.notices[kind].printed) },
		}, figure{
			name: kind + ": x_low to x_high", percent: true, goal: leastHeld, today: today,
			of: func(t tally) (float64, float64) { return share(t.ends[kind].held, t.ends[kind].printed) },
		})
	}
	return list
}

// share is that of hits, with its standard error.
func share(hits, n int) (value, err float64) {
	if n == 0 {
		return math.NaN(), 0
	}
	p := float64(hits) / float64(n)
	return p, math.Sqrt(p * (1 - p) / float64(n))
}

// each is a number of each round.
func each(n func(tally) int) func(tally) (float64, float64) {
	return func(t tally) (float64, float64) { return float64(n(t)) / float64(t.rounds), 0 }
}

// all adds up all kinds.
func all(by map[string]held) (h held) {
	for _, one := range by {
		h = held{h.held + one.held, h.printed + one.printed}
	}
	return h
}

// sigmas is by how many standard errors a figure has to be worse than what holds.
const sigmas = 3

func (f figure) missed(t tally) bool {
	value, err := f.of(t)
	bound, set := f.today[t.world]
	switch {
	case !set || math.IsNaN(value):
		return false
	case f.most:
		return value-sigmas*err > bound
	}
	return value+sigmas*err < bound
}
