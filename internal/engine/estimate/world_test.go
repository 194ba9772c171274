package estimate

import (
	"github.com/dpproxy/dpproxy/internal/gate"
	"github.com/dpproxy/dpproxy/internal/gate/gatetest"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

type measured = gatetest.Exact

// draw releases integers as if main had answered them.
func draw(src *mechanism.Source, with gate.Mechanisms, releases []mechanism.Release, m measured) Block {
	r, _ := gatetest.Draw(src, with, releases, m)
	return Block{Released: r}
}

// presented is what is shown of an answer.
func (s *Statement) presented(answer []Block) []Block {
	var released []gate.Released
	for _, b := range answer {
		released = append(released, b.Released)
	}
	return s.Present(released).Blocks
}

// interval is that of an aggregate, in the steps of its first release.
func (s *Statement) interval(block int, c rewrite.Column, r Block, g int) (interval, bool) {
	a := s.Aggregate(block, c, r, g)
	return a.interval, a.Known
}

// steps is the value of an aggregate in these, and by what they are divided; 0 where it is NULL.
func (s *Statement) steps(block int, c rewrite.Column, r Block, g int) (value, by float64) {
	if a := s.Aggregate(block, c, r, g); !a.Null {
		return a.At / a.By, a.By
	}
	return 0, 0
}
