package release

import (
	"fmt"
	"slices"

	"github.com/dpproxy/dpproxy/internal/rewrite/aggregate"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
)

// layer finds the releases that read disjoint rows and are bounded together, and numbers their layers from 1
// (docs/privacy.md P12a). A release that is in no layer with others keeps the number 0.
func (b *Planner) layer(k *Block) {
	calls := make([]*aggregate.Call, len(k.Releases))
	for i := range calls {
		calls[i] = k.reads[i]
	}
	exclude := aggregate.Exclusions(b.Base, k.Source, calls)
	disjoint := func(i int, others []int) bool {
		b.Take(len(others))
		return !slices.ContainsFunc(others, func(j int) bool { return !exclude(i, j) })
	}
	quantiles := k.boundTogether(disjoint)
	var layers [][]int // of releases
	kinds := []string{}
	at := map[int]int{} // the layer of a release
	type together struct{ family, chain int }
	first := map[together]int{} // its first member
	for i := range k.Releases {
		kind := quantiles[i]
		if kind == "" {
			kind = k.layerKind(i, at)
		}
		if kind == "" {
			continue
		}
		if r := k.Releases[i]; r.InFamily() || r.InChain() {
			of := together{r.Family, r.Chain}
			if j, known := first[of]; known { // they are in one layer: they read the rows of one condition
				layers[at[j]], at[i] = append(layers[at[j]], i), at[j]
				continue
			}
			first[of] = i
		}
		l := 0
		for l < len(layers) && (kinds[l] != kind || !disjoint(i, layers[l])) {
			l++
		}
		if l == len(layers) {
			layers, kinds = append(layers, nil), append(kinds, kind)
		}
		layers[l], at[i] = append(layers[l], i), l
	}
	number := 0
	for _, members := range layers {
		if !k.Releases[members[0]].InChain() &&
			!slices.ContainsFunc(members, func(i int) bool { return !k.sameFamily(i, members[0]) }) {
			continue
		}
		number++
		for _, i := range members {
			k.Releases[i].Layer = number
			if m := k.measurement(i); m != nil && !k.oneRow() {
				m.family = number
			}
		}
	}
}

// mostTogether bounds the histograms that are bounded together: the query of each reads the conditions and arguments of
// all.
const mostTogether = 16

// boundTogether finds the histograms that read disjoint rows, where a unit may have several, and names the kind of
// layer of their releases.
func (k *Block) boundTogether(disjoint func(i int, others []int) bool) (kinds map[int]string) {
	type group struct{ histograms, first []int } // with a release of each
	var groups []*group
	for at, h := range k.Histograms {
		i := h.Releases[0]
		if k.oneRow() || h.Extreme != "" || k.reads[i] == nil || k.reads[i].Filter == nil {
			continue
		}
		g := slices.IndexFunc(groups, func(g *group) bool { return len(g.first) < mostTogether && disjoint(i, g.first) })
		if g < 0 {
			g, groups = len(groups), append(groups, &group{})
		}
		groups[g].histograms, groups[g].first = append(groups[g].histograms, at), append(groups[g].first, i)
	}
	kinds = map[int]string{}
	for number, g := range groups {
		if len(g.histograms) == 1 {
			continue
		}
		for part, at := range g.histograms {
			h := &k.Histograms[at]
			h.Together, h.Part = g.histograms, part
			for _, i := range h.Releases {
				kinds[i] = fmt.Sprintf("quantiles of group %d", number)
			}
		}
	}
	return kinds
}

// sameFamily reports whether two releases are one, or of one family.
func (k *Block) sameFamily(i, j int) bool {
	a, b := k.Releases[i], k.Releases[j]
	return i == j || a.InFamily() && b.InFamily() && a.Family == b.Family
}

// layerKind names the kind of a release's layer: releases of one kind are bounded together if they are disjoint. Empty:
// of none. at has the layers of the releases before it.
func (k *Block) layerKind(i int, at map[int]int) string {
	if k.reads[i] == nil || k.reads[i].Filter == nil && !k.Releases[i].InChain() {
		return ""
	}
	if k.oneRow() {
		return "one row"
	}
	m := k.measurement(i)
	switch {
	case m == nil || m.Distinct != nil || m.Once:
		return ""
	case m.Total:
		return fmt.Sprintf("magnitudes of %s up to %d, given a count: %t", query.Key(m.argument), k.Releases[i].Total, m.given)
	case m.row == nil:
		return "counts"
	case m.given:
		if l, counted := at[m.Count]; counted {
			return fmt.Sprintf("sums given the counts of layer %d", l)
		}
	}
	return ""
}

// oneRow reports whether a unit is proven to have one row.
func (k *Block) oneRow() bool { return k.Source.MaxRowsPerUnit == 1 && k.Source.Proven }

// OneRow is the row of a unit that the block reads, where that is all that it has; else nil.
func (k *Block) OneRow() *relation.OneRow {
	if !k.oneRow() {
		return nil
	}
	return k.Source.OneRow()
}

// measurement finds what measures a release; nil: a histogram does.
func (k *Block) measurement(release int) *Measurement {
	for i := range k.Measurements {
		if k.Measurements[i].Release == release {
			return &k.Measurements[i]
		}
	}
	return nil
}

// sumsByRows lets sums count by rows where they may be part of a vector of joint noise, which only what rows bound can
// be (docs/mechanisms.md, «Joint noise»): beside other such releases, if they do not share a layer.
func (k *Block) sumsByRows() {
	joint := 0
	for i := range k.Releases {
		if m := k.measurement(i); k.Releases[i].Layer == 0 && m != nil && (k.Releases[i].Row > 0 || m.byRows) {
			joint++
		}
	}
	if joint < 2 {
		return
	}
	for i := range k.Measurements {
		m := &k.Measurements[i]
		if r := &k.Releases[m.Release]; m.byRows && r.Layer == 0 {
			m.ByRows, m.Total = true, false
			r.Groups, r.Row = int(k.MaxPartitionsContributed), r.Total/k.Source.MaxRowsPerUnit
		}
	}
}
