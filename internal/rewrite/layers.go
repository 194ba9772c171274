package rewrite

import (
	"slices"

	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/release"
)

// numberLayers numbers the layers of a statement: blocks number theirs from 1 each. Blocks of which one at most reads
// the only row of a unit share layers: the first of one block is the first of the others, and so on, since a unit moves
// the releases of one block alone (docs/privacy.md P12a). stage gives that of a block: those of different stages are
// measured one after the other, and share none.
func (b *planning) numberLayers(blocks []Block, planned []*release.Block, stage func(int) int) {
	families, rows := [][]int{}, make([]*relation.OneRow, len(blocks))
	for i := range blocks {
		rows[i] = planned[i].OneRow()
		at := slices.IndexFunc(families, func(family []int) bool {
			b.Take(len(family))
			return !slices.ContainsFunc(family, func(j int) bool { return stage(i) != stage(j) || !rows[i].Excludes(rows[j]) })
		})
		if at < 0 {
			families = append(families, []int{i})
		} else {
			families[at] = append(families[at], i)
		}
	}
	before, quantiles := 0, 0
	for _, family := range families {
		most := 0
		for _, i := range family {
			blocks[i].Releases = slices.Clone(blocks[i].Releases)
			most = max(most, shift(blocks[i], before, len(family) > 1))
			quantiles = numberFamilies(blocks[i], quantiles)
		}
		before += most
	}
}

// numberFamilies numbers the families of quantiles of a block from before + 1, and returns the last number.
func numberFamilies(b Block, before int) int {
	last := before
	for i := range b.Releases {
		if local := b.Releases[i].Family; local > 0 {
			b.Releases[i].Family = before + local
			last = max(last, before+local)
		}
	}
	return last
}

// shift numbers the layers of a block from before + 1, and returns how many there are. Without shared, a release that
// is alone stays so.
func shift(b Block, before int, shared bool) int {
	type layer struct{ number, family int }
	numbers, n := map[layer]int{}, 0
	for i := range b.Releases {
		local := layer{number: b.Releases[i].Layer}
		if local.number == 0 && !shared {
			continue
		}
		if local.number == 0 && b.Releases[i].InFamily() {
			local.family = b.Releases[i].Family // which reads the same rows
		}
		number, known := numbers[local]
		if !known || local == (layer{}) {
			n++
			number = before + n
			numbers[local] = number
		}
		b.Releases[i].Layer = number
	}
	return n
}
