package engine

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// measured holds the exact integers of one block. They never leave the engine.
type measured struct {
	keys       [][]*rewrite.Canonical  // of the groups below, under partition selection; else the block's declared keys
	units      []int64                 // [group], under partition selection
	exact      [][]int64               // [release][group]
	histograms [][]mechanism.Histogram // [release][group], for quantiles
}

// collector sorts the rows of a block's measure queries into groups. Groups without a row are zero.
type collector struct {
	block *rewrite.Block
	m     measured
	index map[string]int // group name → position, under partition selection
}

func newCollector(block *rewrite.Block) *collector {
	c := &collector{block: block, index: map[string]int{}}
	c.m.exact = make([][]int64, len(block.Releases))
	c.m.histograms = make([][]mechanism.Histogram, len(block.Releases))
	for _, key := range block.Keys {
		c.addGroup(key)
	}
	return c
}

func (c *collector) addGroup(key []*rewrite.Canonical) int {
	for i := range c.block.Releases {
		c.m.exact[i] = append(c.m.exact[i], 0)
		c.m.histograms[i] = append(c.m.histograms[i], nil)
	}
	c.m.keys = append(c.m.keys, key)
	c.m.units = append(c.m.units, 0)
	return len(c.m.keys) - 1
}

// group finds the group of a row and returns the integers behind it.
func (c *collector) group(row backend.MeasureRow) (int, []int64, error) {
	if c.block.Select == nil {
		ordinal := row.Integers[0]
		if ordinal < 1 || ordinal > int64(len(c.block.Keys)) {
			return 0, nil, errMeasureShape
		}
		return int(ordinal - 1), row.Integers[1:], nil
	}
	name := keyName(row.Keys)
	g, known := c.index[name]
	if !known {
		g = c.addGroup(row.Keys)
		c.index[name] = g
	}
	return g, row.Integers, nil
}

// row takes a row of the block's Measure query.
func (c *collector) row(row backend.MeasureRow) error {
	g, integers, err := c.group(row)
	if err != nil {
		return err
	}
	if c.block.Select != nil {
		c.m.units[g], integers = integers[0], integers[1:]
	}
	if len(integers) != len(c.block.Measured) {
		return errMeasureShape
	}
	for i, release := range c.block.Measured {
		c.m.exact[release][g] = integers[i]
	}
	return nil
}

// bin takes a row of a histogram query: group, grid step, count.
func (c *collector) bin(h rewrite.Histogram, row backend.MeasureRow) error {
	g, integers, err := c.group(row)
	if err != nil {
		return err
	}
	if len(integers) != 2 {
		return errMeasureShape
	}
	for _, release := range h.Releases {
		c.m.histograms[release][g] = append(c.m.histograms[release][g], mechanism.Bin{Step: integers[0], Count: integers[1]})
	}
	return nil
}

// errMeasureShape means that main answered with other columns than rewrite asked for. It never reaches a client.
var errMeasureShape = errors.New("a measure query returned rows of another shape than planned")

// sorted puts everything into an order that does not depend on how main returned it.
func (c *collector) sorted() measured {
	for _, perGroup := range c.m.histograms {
		for _, h := range perGroup {
			slices.SortFunc(h, func(a, b mechanism.Bin) int { return cmp.Compare(a.Step, b.Step) })
		}
	}
	if c.block.Select == nil {
		return c.m
	}
	order := make([]int, len(c.m.keys))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(keyName(c.m.keys[a]), keyName(c.m.keys[b])) })
	m := measured{keys: permute(c.m.keys, order), units: permute(c.m.units, order)}
	for i := range c.m.exact {
		m.exact = append(m.exact, permute(c.m.exact[i], order))
		m.histograms = append(m.histograms, permute(c.m.histograms[i], order))
	}
	return m
}

func permute[T any](in []T, order []int) []T {
	out := make([]T, len(order))
	for to, from := range order {
		out[to] = in[from]
	}
	return out
}

// keyName is a group's identity: length-prefixed fields, so that no two keys share one.
func keyName(key []*rewrite.Canonical) string {
	var b strings.Builder
	for _, k := range key {
		if k == nil {
			b.WriteString("-;")
			continue
		}
		b.WriteString(strconv.Itoa(len(*k)))
		b.WriteByte(':')
		b.WriteString(string(*k))
	}
	return b.String()
}
