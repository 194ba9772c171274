package gate

import (
	"cmp"
	"errors"
	"slices"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// Exact holds the exact integers of one block. Nothing of this package gives one out but Draw, with noise.
type Exact struct {
	keys       rewrite.Keys            // of the groups below, under partition selection; else the block's declared keys
	units      []int64                 // [group], under partition selection
	exact      [][]int64               // [release][group]
	histograms [][]mechanism.Histogram // [release][group], of quantiles; else nil
}

// collector sorts the rows of a block's measure queries into groups. Groups without a row are zero.
type collector struct {
	block *rewrite.Block
	m     Exact
	found *rewrite.Table // under partition selection: the keys that have come

	places *places // of the keys, where main names groups by them: of those declared, or of those found
	taken  []bool  // declared keys that have come
}

func newCollector(block *rewrite.Block) *collector {
	c := &collector{block: block, found: rewrite.NewTable(len(block.KeyTypes))}
	c.m.exact = make([][]int64, len(block.Releases))
	c.m.histograms = make([][]mechanism.Histogram, len(block.Releases))
	if c.m.keys = block.Keys; block.Keys == nil {
		c.m.keys = c.found
		c.places = newPlaces(c.found, len(block.KeyTypes))
		return c
	}
	if block.ByKey {
		c.places, c.taken = newPlaces(block.Keys, len(block.KeyTypes)), make([]bool, block.Keys.Len())
	}
	for i, release := range block.Releases {
		if release.Kind == mechanism.Quantile {
			c.m.histograms[i] = make([]mechanism.Histogram, block.Keys.Len())
		} else {
			c.m.exact[i] = make([]int64, block.Keys.Len())
		}
	}
	return c
}

// addGroup adds one that partition selection has to decide about.
func (c *collector) addGroup(key []*rewrite.Canonical) int {
	for i, release := range c.block.Releases {
		if release.Kind == mechanism.Quantile {
			c.m.histograms[i] = append(c.m.histograms[i], nil)
		} else {
			c.m.exact[i] = append(c.m.exact[i], 0)
		}
	}
	c.found.Add(key)
	c.m.units = append(c.m.units, 0)
	return c.found.Len() - 1
}

// dropped is the group of a row whose keys are not declared: public rows have changed since they were listed
// (docs/privacy.md P26a).
const dropped = -1

// group finds the group of a row and returns the integers behind it.
func (c *collector) group(row backend.MeasureRow) (int, []int64, error) {
	if c.places == nil {
		ordinal := row.Integers[0]
		if ordinal < 1 || ordinal > int64(c.block.Keys.Len()) {
			return 0, nil, ErrShape
		}
		return int(ordinal - 1), row.Integers[1:], nil
	}
	g := c.places.of(row.Keys)
	if g == dropped && c.block.Select != nil {
		g = c.addGroup(row.Keys)
		c.places.add(g)
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
		return ErrShape
	}
	if g == dropped {
		return nil
	}
	if c.taken != nil {
		if c.taken[g] {
			return ErrShape // two rows would be one group: each is bounded by itself
		}
		c.taken[g] = true
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
		return ErrShape
	}
	if g == dropped {
		return nil
	}
	for _, release := range h.Releases {
		c.m.histograms[release][g] = append(c.m.histograms[release][g], mechanism.Bin{Step: integers[0], Count: integers[1]})
	}
	return nil
}

// ErrShape means that main answered with other columns than rewrite asked for. It never reaches a client.
var ErrShape = errors.New("a measure query returned rows of another shape than planned")

// sorted puts everything into an order that does not depend on how main returned it.
func (c *collector) sorted() Exact {
	for _, perGroup := range c.m.histograms {
		for _, h := range perGroup {
			slices.SortFunc(h, func(a, b mechanism.Bin) int { return cmp.Compare(a.Step, b.Step) })
		}
	}
	if c.block.Select == nil {
		return c.m
	}
	order := make([]int, c.found.Len())
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return schema.CompareKeys(c.found, a, b, len(c.block.KeyTypes)) })
	return c.m.of(order)
}

// of takes groups in this order.
func (m Exact) of(groups []int) Exact {
	out := Exact{keys: schema.KeyPart{Of: m.keys, Groups: groups}, units: pick(m.units, groups)}
	for i := range m.exact {
		out.exact = append(out.exact, pick(m.exact[i], groups))
		out.histograms = append(out.histograms, pick(m.histograms[i], groups))
	}
	return out
}

// pick takes what groups have; nil stays nil.
func pick[T any](in []T, groups []int) []T {
	if in == nil {
		return nil
	}
	out := make([]T, len(groups))
	for to, from := range groups {
		out[to] = in[from]
	}
	return out
}
