package estimate

import (
	"math"
	"slices"

	"github.com/dpproxy/dpproxy/internal/consistency"
	"github.com/dpproxy/dpproxy/internal/gate"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// Present gives what is shown of an answer: its groups that have rows, with numbers that add up. It follows from
// released values and the plan (docs/privacy.md P17a, P17b), so what is kept of an answer are the values as they were
// released. The blocks of a stage do not look at those behind it: what a stage has read stays what it was.
func (s *Statement) Present(released []gate.Released) *Answer {
	a := &adding{Answer{s, Drawn(released)}, nil, make([][]bool, len(released)), make([]float64, len(released))}
	for _, l := range s.Plan.Levels {
		if l.Block < len(released) && l.Of < len(released) {
			a.levels = append(a.levels, a.level(l))
		}
	}
	for i := range a.Blocks {
		a.find(i)
	}
	if a.levels != nil {
		for again := true; again; again = a.unshow() {
			a.addUp()
		}
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
	if b.drawn == nil {
		b.drawn = b.Values
	}
	b.Values = nil
	for _, values := range b.drawn {
		b.Values = append(b.Values, slices.Clone(values))
	}
}

// adding is an answer whose levels are made to add up.
type adding struct {
	Answer
	levels []addedLevel
	shown  [][]bool  // of each block, which groups are told from empty ones
	share  []float64 // of those among which values choose them
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

// addUp makes what was drawn add up.
func (a *adding) addUp() {
	for i := range a.Blocks {
		a.Blocks[i].copyValues()
	}
	a.settle(false)
	a.settle(true)
	a.keepRanges()
}

// unshow takes the groups that have come to nothing out of those that are shown, and says whether there were any: then
// the others have to add up without them, whatever else they have.
func (a *adding) unshow() (some bool) {
	for i, b := range a.Blocks {
		for g, shown := range a.shown[i] {
			if shown && !a.Plan.Blocks[i].Shows(func(release int) int64 { return b.Values[release][g] }) {
				a.shown[i][g], some = false, true
			}
		}
	}
	return some
}

// hide leaves out the groups that are not shown, and notes how many are left for the intervals of these.
func (a *adding) hide() {
	for i, r := range a.Blocks {
		if a.Plan.Blocks[i].DropsEmpty {
			var groups []int
			for g, shown := range a.shown[i] {
				if shown {
					groups = append(groups, g)
				}
			}
			r = r.of(groups)
		}
		r.chosen = a.chosen(i, r.Keys.Len())
		if r.whole != nil {
			r.whole.chosen = r.chosen // windows beside it read these, and it the same as without them
		}
		a.Blocks[i] = r
	}
}

// settle makes releases add up, sums given their counts or all others, those that have to do with each other at a time:
// there may be a million groups.
func (a *adding) settle(chained bool) {
	for _, chain := range a.chains(chained) {
		f := forest{a, map[place]*numbers{}}
		for _, l := range chain {
			f.add(l)
		}
		var roots []*consistency.Number
		for _, n := range f.numbers {
			for g := range n.list {
				if !n.part[g] {
					roots = append(roots, &n.list[g])
				}
			}
		}
		consistency.Settle(roots)
		for _, n := range f.numbers {
			n.take()
		}
	}
}

// place is a release of a block.
type place struct{ block, release int }

// link says that one release of a level is parts of another.
type link struct {
	addedLevel
	pair         rewrite.Pair
	fine, coarse place
}

// chains lists the links of sums given their counts, or of all other releases, those that have to do with each other
// together.
func (a *adding) chains(chained bool) (chains [][]link) {
	for _, level := range a.levels {
		for _, pair := range level.Pairs {
			l := link{level, pair, place{level.Block, pair.Release}, place{level.Of, pair.Of}}
			if a.isChained(l.fine) != chained {
				continue
			}
			chain := []link{l}
			chains = slices.DeleteFunc(chains, func(other []link) bool {
				together := slices.ContainsFunc(other, func(o link) bool {
					return l.fine == o.fine || l.fine == o.coarse || l.coarse == o.fine || l.coarse == o.coarse
				})
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

func (a *adding) release(at place) mechanism.Release {
	return a.Plan.Blocks[at.block].Releases[at.release]
}
func (a *adding) isChained(at place) bool { return a.release(at).Kind == mechanism.SumGivenCount }

// forest holds what is settled together.
type forest struct {
	*adding
	numbers map[place]*numbers
}

// add adds a link.
func (f *forest) add(l link) {
	fine, coarse := f.of(l.fine, l.pair), f.of(l.coarse, l.pair)
	if fine.list == nil || coarse.list == nil {
		return
	}
	parts := make([][]*consistency.Number, len(coarse.list)) // of groups that are not shown nothing is added
	apart := f.countsApart(l)
	for g, to := range l.group {
		if to >= 0 && !apart[to] {
			parts[to] = append(parts[to], &fine.list[g])
			fine.part[g] = true
		}
	}
	for g := range coarse.list {
		if !apart[g] {
			coarse.list[g].Sums = append(coarse.list[g].Sums, consistency.Sum{
				Parts: parts[g], More: l.pair.More,
				Less: l.pair.Less,
			})
		}
	}
}

// countsApart says of a sum given its count in which groups that count does not add up, and with it not the range of
// the sum; of others it is nowhere so.
func (f *forest) countsApart(l link) []bool {
	apart := make([]bool, f.Blocks[l.Of].Keys.Len())
	if !f.isChained(l.fine) {
		return apart
	}
	fine, coarse := f.Blocks[l.Block].Values[f.release(l.fine).CountRef],
		f.Blocks[l.Of].Values[f.release(l.coarse).CountRef]
	sums := make([]int64, len(apart))
	for g, to := range l.group {
		if to >= 0 {
			sums[to] += fine[g]
		}
	}
	for g, sum := range sums {
		apart[g] = sum != coarse[g]
	}
	return apart
}

// numbers are what adds up of one release.
type numbers struct {
	values []int64              // that were released
	rows   []int64              // of a sum given its count: that; nil: it is none
	list   []consistency.Number // by group; nil: they are too large to be added up
	part   []bool               // whether they are parts of others
	center int64                // of Σ(2x − center), of which Σx adds up, and whether it is that
	double bool
}

// of makes the numbers of a release, once, by a pair that it is in.
func (f *forest) of(at place, pair rewrite.Pair) *numbers {
	if n, known := f.numbers[at]; known {
		return n
	}
	r, values := f.release(at), f.Blocks[at.block].Values
	n := &numbers{values: values[at.release], part: make([]bool, len(values[at.release]))}
	f.numbers[at] = n
	row, deviation := r.PerRow, f.Mechanisms[at.block].Releases[at.release].Chosen().RMSEAverage
	if f.isChained(at) {
		if n.rows, n.center, n.double = values[r.CountRef], pair.DoubledCenter, pair.Doubled; n.double {
			row, deviation = mechanism.Interval{Lo: (row.Lo + n.center) / 2, Hi: (row.Hi + n.center) / 2}, deviation/2
		}
	}
	list := make([]consistency.Number, len(n.values))
	for g, z := range n.values {
		x := consistency.Number{Value: float64(z), Deviation: deviation, Unseen: !f.shown[at.block][g]}
		if n.rows == nil {
			x.Lo, x.Hi = max(r.Range[0].Lo, -mostSteps), min(r.Range[0].Hi, mostSteps)
		} else {
			rows := max(0, n.rows[g])
			x.Lo, x.Hi = multiplied(row.Lo, rows), multiplied(row.Hi, rows)
			if n.double {
				x.Value = (x.Value + float64(n.center)*float64(rows)) / 2
			}
		}
		if math.Abs(x.Value) > consistency.Most {
			return n
		}
		list[g] = x
	}
	n.list = list
	return n
}

// multiplied is a·b, as far as that goes.
func multiplied(a, b int64) int64 {
	return int64(math.Max(-mostSteps, math.Min(mostSteps, float64(a)*float64(b))))
}

// take puts the numbers of a release into the answer.
func (n *numbers) take() {
	for g, x := range n.list {
		if x.Joined {
			n.values[g] = x.Settled
			if n.double {
				n.values[g] = 2*x.Settled - n.center*max(0, n.rows[g])
			}
		}
	}
}

// keepRanges puts every sum into the range that follows from its count, where that has changed.
func (a *adding) keepRanges() {
	for i, b := range a.Blocks {
		for j, r := range a.Plan.Blocks[i].Releases {
			if r.Kind != mechanism.SumGivenCount {
				continue
			}
			for g, n := range b.Values[r.CountRef] {
				if n != b.drawn[r.CountRef][g] {
					lo, hi := multiplied(r.PerRow.Lo, max(0, n)), multiplied(r.PerRow.Hi, max(0, n))
					b.Values[j][g] = max(lo, min(hi, b.Values[j][g]))
				}
			}
		}
	}
}
