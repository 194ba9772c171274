package rewrite

import (
	"fmt"
	"slices"
	"strings"
)

// levels lists which blocks of the plan are parts of others. Equal blocks are one, which may be part of several: it
// adds up to the first. What a stage has read may not change by what is released later.
func (b *planning) levels(p *Plan, index [][]int) {
	for i, q := range b.queries {
		for _, l := range q.Levels {
			l.Block, l.Of = index[i][l.Block], index[i][l.Of]
			if slices.ContainsFunc(p.Levels, func(o Level) bool { return o.Block == l.Block && o.Pairs != nil }) {
				l.Pairs = nil
			}
			adds := l.Pairs != nil || p.Blocks[l.Block].DropsEmpty && p.Blocks[l.Of].DropsEmpty
			if adds && p.stage(l.Block) == p.stage(l.Of) {
				p.Levels = append(p.Levels, l)
			}
		}
	}
}

// explainLevels says which numbers add up, of blocks that have these numbers.
func (p *Plan) explainLevels(number map[int]int) (lines []string) {
	for _, l := range p.Levels {
		if l.Pairs == nil {
			continue
		}
		of := p.Blocks[l.Of].Releases
		var names []string
		where := ""
		for _, pair := range l.Pairs {
			names = append(names, of[pair.Of].Name)
			if pair.More || pair.Less {
				where = " where noise explains the difference"
			}
		}
		lines = append(lines, fmt.Sprintf("groups of block %d are made to add up to those of block %d%s: %s", number[l.Block],
			number[l.Of], where, strings.Join(names, ", ")))
	}
	return lines
}
