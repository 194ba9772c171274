package engine

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/dpproxy/dpproxy/internal/gate"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// Kept answers of several statements that determine the same numbers have measured these independently: their mean,
// by inverse variance, is sharper than the sharpest of them (docs/privacy.md P23b).

// mostAveraged bounds the answers that a block is made of: the sharpest.
const mostAveraged = 8

// determination is how a block is made of answers that are kept: of one, or of the mean of several.
type determination struct {
	sources    []*source // the sharpest first
	mechanisms []*mechanism.Prepared
	shares     [][]float64 // of the sources in the mean, by release; nil: there is one
	wider      float64     // how many times the error of the statement's own answer its errors are, at most
}

// keys are those of the answers that it is made of.
func (d *determination) keys() (list []string) {
	for _, s := range d.sources {
		list = append(list, s.of.key)
	}
	return list
}

// origins are what a statement's blocks are made of, by block.
type origins []*determination

// found are the sources of a statement's blocks in the answers of others, by block: the sharpest of each answer.
type found [][]*source

// add finds those in the answer of another statement.
func (f found) add(ctx context.Context, p, of *private) error {
	for block := range f {
		var best *source
		for at := range of.Plan.Blocks {
			s, err := p.withoutLook().madeOf(ctx, p.call, block, of, at)
			if err != nil {
				return err
			}
			if s != nil && (best == nil || s.wider < best.wider) {
				best = s
			}
		}
		if best != nil {
			f[block] = append(f[block], best)
		}
	}
	return nil
}

// madeOfFound is how a statement is best made of what was found, if with no more than so many times its own errors;
// nil: it is not.
func (p *private) madeOfFound(f found, most float64) (made origins) {
	before, _ := p.engine.kept.made.get(keptKey{p.scope.Analyst, p.key})
	for block, list := range f {
		var used []string
		if block < len(before) {
			used = before[block]
		}
		d := p.withoutLook().sharpest(block, list, used)
		if d == nil || d.wider > most || block > 0 && d.sources[0].of.Part != made[0].sources[0].of.Part {
			return nil
		}
		made = append(made, d)
	}
	return made
}

// sharpest is how a block is best made of some answers; nil: there are none. It follows from which these are and not
// from their order. Where those that it was made of before are among them, it is made of these: the same question has
// the same answer as long as they are kept.
func (p *calibrated) sharpest(block int, list []*source, before []string) *determination {
	if len(list) == 0 {
		return nil
	}
	used := func(s *source) bool { return slices.Contains(before, s.of.key) }
	if again := slices.DeleteFunc(slices.Clone(list), func(s *source) bool { return !used(s) }); len(before) > 0 &&
		len(again) == len(before) {
		list = again
	}
	slices.SortFunc(list, func(a, b *source) int {
		return cmp.Or(cmp.Compare(a.wider, b.wider), cmp.Compare(a.of.key, b.of.key))
	})
	one := &determination{sources: list[:1], wider: list[0].wider}
	for i := range p.Plan.Blocks[block].Releases {
		one.mechanisms = append(one.mechanisms, list[0].mechanism(i))
	}
	if mean := p.averaged(block, list); mean != nil && mean.wider < one.wider {
		return mean
	}
	return one
}

// averaged is the mean of those answers that add up, and leave out what the sharpest of them does; nil: there are not
// two.
func (p *calibrated) averaged(block int, list []*source) *determination {
	d := &determination{}
	for _, s := range list {
		if s.adds() && (len(d.sources) == 0 || s.leavesOutAs(d.sources[0])) && len(d.sources) < mostAveraged {
			d.sources = append(d.sources, s)
		}
	}
	if len(d.sources) < 2 {
		return nil
	}
	for i, r := range p.Plan.Blocks[block].Releases {
		var of []*mechanism.Prepared
		for _, s := range d.sources {
			of = append(of, s.mechanism(i))
		}
		mean, shares := mechanism.Averaged(of)
		d.mechanisms, d.shares = append(d.mechanisms, mean), append(d.shares, shares)
		d.wider = max(d.wider, errorOf(r, mean)/errorOf(r, p.Mechanisms[block].Releases[i]))
	}
	return d
}

// adds says that all numbers of a source are known as they were before any range has bounded them.
func (s *source) adds() bool {
	return !slices.ContainsFunc(s.Releases, func(release int) bool { return !s.of.adds(s.block, release) })
}

// leavesOutAs says that two sources leave out the same part of what they count at most, and are as often wrong.
func (s *source) leavesOutAs(other *source) bool {
	a, b := &s.of.Plan.Blocks[s.block], &other.of.Plan.Blocks[other.block]
	share := func(of *rewrite.Block) float64 {
		if of.LeftOut == nil {
			return -1
		}
		return *of.LeftOut
	}
	moved := func(i int) bool {
		r, o := a.Releases[s.Releases[i]], b.Releases[other.Releases[i]]
		return r.Sensitivity != o.Sensitivity || (r.Groups <= 1) != (o.Groups <= 1)
	}
	for i := range s.Releases {
		if moved(i) {
			return false
		}
	}
	return a.Rows == b.Rows && share(a) == share(b) && a.Uncovered == b.Uncovered && s.of.Part == other.of.Part
}

// released are the numbers of a block that is made of others.
func (d *determination) released(b *rewrite.Block) released {
	if d.shares == nil {
		return d.sources[0].released(b)
	}
	r := released{Released: gate.Released{Keys: b.Keys}}
	for i := range b.Releases {
		mean := d.mean(i)
		r.Plain = append(r.Plain, mean)
		r.Values = append(r.Values, bounded(mean, b.Releases[i].Range))
	}
	return r
}

// mean is that of what was drawn of a release: the first, and the shares of how far the others are from it, rounded.
func (d *determination) mean(release int) []int64 {
	first := d.sources[0].plain(release)
	off := make([]float64, len(first))
	for i, s := range d.sources[1:] {
		for g, x := range s.plain(release) {
			off[g] += d.shares[release][i+1] * float64(x-first[g])
		}
	}
	for g := range first {
		first[g] += int64(math.RoundToEven(off[g]))
	}
	return first
}

// bounded are numbers within a range.
func bounded(values []int64, of mechanism.Range) []int64 {
	out := make([]int64, len(values))
	for g, x := range values {
		out[g] = max(of[0].Lo, min(of[0].Hi, x))
	}
	return out
}
