package estimate

import (
	"cmp"
	"slices"

	"github.com/dpproxy/dpproxy/internal/gate"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// Statement is what is public of a statement.
type Statement struct {
	Plan       *rewrite.Plan
	Mechanisms []gate.Mechanisms // of each block
	Part       float64           // of what is wrong in 5% at most, that this answer may have; 0: all
}

// Answer is what a statement has released, as it is shown.
type Answer struct {
	*Statement
	Blocks []Block
}

// Block is one block of an answer.
type Block struct {
	gate.Released
	drawn  [][]int64 // Values before levels were made to add up; nil: they are as they were drawn
	whole  *Block    // before groups were left out; nil: none was
	shown  []int     // of whole
	chosen float64   // the share of the groups among which values choose those that are shown; 0: they choose none
}

// Wrong is how often what is told of the answer may be wrong.
func (s *Statement) Wrong() float64 { return mechanism.Wrong * cmp.Or(s.Part, 1) }

// Threshold is the least count that cannot be that of no rows, less 1.
func (s *Statement) Threshold(block, release int) int64 {
	return s.Mechanisms[block].Releases[release].EmptyThreshold(s.Wrong())
}

// Whole has the groups that are not shown, too.
func (b Block) Whole() Block {
	if b.whole == nil {
		return b
	}
	return *b.whole
}

// Shown says of each group of Whole whether it is shown.
func (b Block) Shown() []bool {
	shown := slices.Repeat([]bool{b.whole == nil}, b.Whole().Keys.Len())
	for _, g := range b.shown {
		shown[g] = true
	}
	return shown
}

// of takes groups in this order.
func (b Block) of(groups []int) Block {
	out := Block{Released: b.Of(groups), whole: &b, shown: groups}
	if b.drawn != nil {
		out.drawn = gate.Released{Values: b.drawn}.Of(groups).Values
	}
	return out
}
