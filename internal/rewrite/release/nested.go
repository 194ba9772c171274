package release

import (
	"math"
	"slices"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite/aggregate"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// mostNested bounds the counts of a block that are compared with each other.
const mostNested = 64

// nest finds counts of which each counts all rows that the one before it does, as those of a funnel, and has each
// measure what the one before it leaves (docs/privacy.md P20e).
func (b *Planner) nest(k *Block) {
	var counts []int
	calls := make([]*aggregate.Call, len(k.Releases))
	for i := range k.Releases {
		if calls[i] = k.reads[i]; k.mayNest(i) {
			counts = append(counts, i)
		}
	}
	if len(counts) < 2 || len(counts) > mostNested {
		return
	}
	pure := b.Schema.Policy.Accounting.Method == policy.Pure
	b.Take(len(counts) * len(counts))
	within := func(i, j int) bool { // never all rows within those of another condition
		return k.measurement(i).Where != nil && aggregate.Implies(b.Base, k.Source, calls[i], calls[j])
	}
	exclude := aggregate.Exclusions(b.Base, k.Source, calls)
	for chain, number := []int(nil), 1; len(counts) > 0; {
		if chain, counts = chainOf(counts, within); len(chain) < 2 {
			continue
		}
		// what excludes one of them shares its layer, unless it excludes all
		for last := len(chain) - 1; last > 0 && slices.ContainsFunc(chain[:last], func(i int) bool {
			return k.excludedAlone(i, chain[last], exclude)
		}); last-- {
			chain = chain[:last]
		}
		if len(chain) > 1 && (!pure || len(chain) == len(k.Releases)) { // beside others a vector of joint noise is better
			k.chain(chain, number)
			number++
		}
	}
}

// mayNest reports whether a release counts rows, and nothing else is measured by what it counts.
func (k *Block) mayNest(i int) bool {
	r, m := k.Releases[i], k.measurement(i)
	if m == nil || !m.Counts() || m.Once && !k.oneRow() || k.Source.Preserved != nil || i == k.unasked-1 ||
		i == k.SelectBy-1 || !r.Choice.Runs() || k.reads[i] == nil || !query.Equal(m.Where, k.reads[i].Rows()) {
		return false
	}
	return !slices.ContainsFunc(k.Measurements, func(o Measurement) bool { return o.given && o.Count == i }) &&
		!slices.ContainsFunc(k.Releases, func(o mechanism.Release) bool {
			return (o.Kind == mechanism.SumGivenCount || o.End != 0) && o.CountRef == i
		})
}

// chainOf takes a chain from a list, from the narrowest on, and gives what is left.
func chainOf(list []int, within func(i, j int) bool) (chain, left []int) {
	for _, i := range list {
		at := 0
		for at < len(chain) && within(chain[at], i) {
			at++
		}
		if slices.ContainsFunc(chain[at:], func(j int) bool { return !within(i, j) }) {
			left = append(left, i)
			continue
		}
		chain = slices.Insert(chain, at, i)
	}
	return chain, left
}

// excludedAlone reports whether a release reads no row that a count reads, and some that a wider count may read.
func (k *Block) excludedAlone(count, wider int, exclude func(i, j int) bool) bool {
	for i := range k.Releases {
		if k.layerKind(i, nil) != "" && exclude(i, count) && !exclude(i, wider) {
			return true
		}
	}
	return false
}

// chain makes a chain of counts.
func (k *Block) chain(members []int, number int) {
	widest := members[len(members)-1]
	weight := int(math.Round(askedWeight * mechanism.ChainWeight(len(members))))
	for place, i := range members {
		r, m := &k.Releases[i], k.measurement(i)
		r.Chain, r.Place, r.Running, r.Row, r.Weight = number, 1+place, len(members), 0, weight
		if place > 0 {
			m.less = k.measurement(members[place-1]).Where
		}
		k.reads[i] = k.reads[widest]
	}
}
