package estimate

import (
	"math"
	"slices"

	"github.com/dpproxy/dpproxy/internal/consistency"
	"github.com/dpproxy/dpproxy/internal/gate"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// Present gives what is shown of an answer: its groups that have rows, with numbers that add up. It follows from released
// values and the plan (docs/privacy.md P17a, P17b), so what is kept of an answer are the values as they were released. The
// blocks of a stage do not look at those behind it: what a stage has read stays what it was.
func (s *Statement) Present(released []gate.Released) *Answer {
	a := &adding{Answer: Answer{s, Drawn(released)}}
	a.present = presence{Answer: Answer{s, slices.Clone(a.Blocks)}, known: map[int][]bool{}, share: map[int]float64{}}
	for _, l := range s.Plan.Levels {
		if l.Block < len(released) && l.Of < len(released) {
			a.present.levels = append(a.present.levels, a.level(l))
		}
	}
	if a.present.levels != nil {
		for i := range a.Blocks {
			a.Blocks[i].copyValues()
		}
		a.settle(func(l rewrite.Level, pair rewrite.Pair) bool { return !a.isChained(l, pair) })
		a.settle(a.isChained)
		a.keepRanges()
	}
	a.hide()
	return &a.Answer
}

// Drawn is an answer as it was released, of which nothing is chosen or made to add up.
func Drawn(released []gate.Released) []Block {
	out := make([]Block, len(released))
	for i, r := range released {
		out[i].Released = r
	}
	return out
}

// copyValues gives a block values of its own, beside those that were drawn.
func (b *Block) copyValues() {
	b.drawn, b.Values = b.Values, nil
	for _, values := range b.drawn {
		b.Values = append(b.Values, slices.Clone(values))
	}
}

// adding is an answer whose levels are made to add up.
type adding struct {
	Answer
	present presence
}

// addedLevel knows of each group of a block in which group of the coarser block it is.
type addedLevel struct {
	rewrite.Level
	group []int // -1: in none
}

func (a *Answer) level(l rewrite.Level) addedLevel {
	out := addedLevel{Level: l}
	fine, coarse := a.Blocks[l.Block].Keys, a.Blocks[l.Of].Keys
	at := map[string]int{}
	all := make([]int, len(l.Keys)) // the columns of the coarser block
	for i := range all {
		all[i] = i
	}
	for g := range coarse.Len() {
		at[keyName(coarse, g, all)] = g
	}
	for g := range fine.Len() {
		of, ok := at[keyName(fine, g, l.Keys)]
		if !ok {
			of = -1
		}
		out.group = append(out.group, of)
	}
	return out
}

func (a *adding) isChained(l rewrite.Level, pair rewrite.Pair) bool {
	return a.Plan.Blocks[l.Block].Releases[pair.Release].Kind == mechanism.SumGivenCount
}

// hide leaves out the groups that are not shown, and those that have come to nothing, and notes how many are left for the
// intervals of these.
func (a *adding) hide() {
	for i, r := range a.Blocks {
		block := &a.Plan.Blocks[i]
		if block.DropsEmpty {
			var groups []int
			for g, shown := range a.present.of(i) {
				if shown && block.Shows(func(release int) int64 { return r.Values[release][g] }) {
					groups = append(groups, g)
				}
			}
			r = r.of(groups)
		}
		r.chosen = a.present.chosen(i, r.Keys.Len())
		if r.whole != nil {
			r.whole.chosen = r.chosen // windows beside it read these, and it the same as without them
		}
		a.Blocks[i] = r
	}
}

// settle makes the releases of the pairs that are asked for add up, those that have to do with each other at a time: there may be a million
// groups.
func (a *adding) settle(asked func(rewrite.Level, rewrite.Pair) bool) {
	for _, chain := range a.chains(asked) {
		f := forest{adding: a, numbers: map[place][]consistency.Number{}, part: map[place][]bool{}, pairs: map[place]rewrite.Pair{}}
		for _, l := range chain {
			f.add(l)
		}
		var roots []*consistency.Number
		for at, numbers := range f.numbers {
			for g := range numbers {
				if !f.part[at][g] {
					roots = append(roots, &numbers[g])
				}
			}
		}
		consistency.Settle(roots)
		for at, numbers := range f.numbers {
			a.take(at, f.pairs[at], numbers)
		}
	}
}

// place is a release of a block.
type place struct{ block, release int }

// link says that one release of a level is parts of another.
type link struct {
	addedLevel
	pair rewrite.Pair
}

func (l link) fine() place   { return place{l.Block, l.pair.Release} }
func (l link) coarse() place { return place{l.Of, l.pair.Of} }

// touches says that two links have a release in common.
func (l link) touches(o link) bool {
	return l.fine() == o.fine() || l.fine() == o.coarse() || l.coarse() == o.fine() || l.coarse() == o.coarse()
}

// chains lists the links that are asked for, those that have to do with each other together.
func (a *adding) chains(asked func(rewrite.Level, rewrite.Pair) bool) (chains [][]link) {
	for _, level := range a.present.levels {
		for _, pair := range level.Pairs {
			if !asked(level.Level, pair) {
				continue
			}
			l := link{level, pair}
			chain := []link{l}
			chains = slices.DeleteFunc(chains, func(other []link) bool {
				together := slices.ContainsFunc(other, l.touches)
				if together {
					chain = append(chain, other...)
				}
				return together
			})
			chains = append(chains, chain)
		}
	}
	return chains
}

// forest holds what is settled together.
type forest struct {
	*adding
	numbers map[place][]consistency.Number // by group; nil: they are too large to be added up
	part    map[place][]bool               // whether they are parts of others
	pairs   map[place]rewrite.Pair         // one that it is in
}

// add adds a link.
func (f *forest) add(l link) {
	fine, coarse := f.of(l.fine(), l.pair), f.of(l.coarse(), l.pair)
	if fine == nil || coarse == nil {
		return
	}
	parts := make([][]*consistency.Number, len(coarse)) // of groups that are not shown nothing is added
	apart := f.countsApart(l)
	for g, to := range l.group {
		if to >= 0 && !apart[to] {
			parts[to] = append(parts[to], &fine[g])
			f.part[l.fine()][g] = true
		}
	}
	for g := range coarse {
		if !apart[g] {
			coarse[g].Sums = append(coarse[g].Sums, consistency.Sum{Parts: parts[g], More: l.pair.More, Less: l.pair.Less})
		}
	}
}

// countsApart says of a sum given its count in which groups that count does not add up, and with it not the range of the sum; of others it
// is nowhere so.
func (f *forest) countsApart(l link) []bool {
	block, of := f.Blocks[l.Block], f.Blocks[l.Of]
	apart := make([]bool, of.Keys.Len())
	if !f.isChained(l.Level, l.pair) {
		return apart
	}
	fine, coarse := f.Plan.Blocks[l.Block].Releases[l.pair.Release].CountRef, f.Plan.Blocks[l.Of].Releases[l.pair.Of].CountRef
	sums := make([]int64, len(apart))
	for g, to := range l.group {
		if to >= 0 {
			sums[to] += block.Values[fine][g]
		}
	}
	for g, sum := range sums {
		apart[g] = sum != of.Values[coarse][g]
	}
	return apart
}

// of makes the numbers of a release, once.
func (f *forest) of(at place, pair rewrite.Pair) []consistency.Number {
	list, known := f.numbers[at]
	if known {
		return list
	}
	r := f.Plan.Blocks[at.block].Releases[at.release]
	deviation := f.Mechanisms[at.block].Releases[at.release].Chosen().RMSEAverage
	values, shown := f.Blocks[at.block].Values, f.present.of(at.block)
	list = make([]consistency.Number, len(values[at.release]))
	for g, z := range values[at.release] {
		n := &list[g]
		n.Value, n.Deviation, n.Unseen = float64(z), deviation, !shown[g]
		if r.Kind == mechanism.SumGivenCount {
			rows := max(0, values[r.CountRef][g])
			if pair.Doubled {
				n.Value, n.Deviation = (n.Value+float64(pair.DoubledCenter)*float64(rows))/2, deviation/2
			}
			lo, hi := perRow(r, pair)
			n.Lo, n.Hi = multiplied(lo, rows), multiplied(hi, rows)
		} else {
			n.Lo, n.Hi = max(r.Range[0].Lo, -mostSteps), min(r.Range[0].Hi, mostSteps)
		}
		if math.Abs(n.Value) > consistency.Most {
			list = nil
			break
		}
	}
	f.numbers[at], f.part[at], f.pairs[at] = list, make([]bool, len(list)), pair
	return list
}

// perRow bounds what a row adds to what adds up.
func perRow(r mechanism.Release, pair rewrite.Pair) (lo, hi int64) {
	if pair.Doubled {
		return (r.PerRow.Lo + pair.DoubledCenter) / 2, (r.PerRow.Hi + pair.DoubledCenter) / 2
	}
	return r.PerRow.Lo, r.PerRow.Hi
}

// multiplied is a·b, as far as that goes.
func multiplied(a, b int64) int64 {
	return int64(math.Max(-mostSteps, math.Min(mostSteps, float64(a)*float64(b))))
}

// take puts the numbers of a release into the answer.
func (a *adding) take(at place, pair rewrite.Pair, numbers []consistency.Number) {
	r, values := a.Plan.Blocks[at.block].Releases[at.release], a.Blocks[at.block].Values
	for g := range numbers {
		n := &numbers[g]
		if !n.Joined {
			continue
		}
		z := n.Settled
		if r.Kind == mechanism.SumGivenCount && pair.Doubled {
			z = 2*z - pair.DoubledCenter*max(0, values[r.CountRef][g])
		}
		values[at.release][g] = z
	}
}

// keepRanges puts every sum into the range that follows from its count, where that has changed.
func (a *adding) keepRanges() {
	for i, block := range a.Plan.Blocks[:len(a.Blocks)] {
		for j, r := range block.Releases {
			if r.Kind != mechanism.SumGivenCount {
				continue
			}
			values, drawn := a.Blocks[i].Values, a.Blocks[i].drawn[r.CountRef]
			for g, n := range values[r.CountRef] {
				if n == drawn[g] {
					continue
				}
				values[j][g] = max(multiplied(r.PerRow.Lo, max(0, n)), min(multiplied(r.PerRow.Hi, max(0, n)), values[j][g]))
			}
		}
	}
}
