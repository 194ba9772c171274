package engine

import (
	"bytes"
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
	keys       rewrite.Keys            // of the groups below, under partition selection; else the block's declared keys
	units      []int64                 // [group], under partition selection
	exact      [][]int64               // [release][group]
	histograms [][]mechanism.Histogram // [release][group], of quantiles; else nil
}

// collector sorts the rows of a block's measure queries into groups. Groups without a row are zero.
type collector struct {
	block *rewrite.Block
	m     measured
	found rewrite.KeyRows // under partition selection

	places *places // of the keys, where main names groups by them: of those declared, or of those found
	taken  []bool  // declared keys that have come
}

func newCollector(block *rewrite.Block) *collector {
	c := &collector{block: block, m: measured{keys: rewrite.KeyRows{}}}
	c.m.exact = make([][]int64, len(block.Releases))
	c.m.histograms = make([][]mechanism.Histogram, len(block.Releases))
	if block.Keys == nil {
		c.places = newPlaces(&c.found, len(block.KeyTypes))
		return c
	}
	c.m.keys = block.Keys
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
	c.found = append(c.found, key)
	c.m.units = append(c.m.units, 0)
	return len(c.found) - 1
}

// dropped is the group of a row whose keys are not declared: public rows have changed since they were listed (docs/privacy.md P26a).
const dropped = -1

// group finds the group of a row and returns the integers behind it.
func (c *collector) group(row backend.MeasureRow) (int, []int64, error) {
	if c.places == nil {
		ordinal := row.Integers[0]
		if ordinal < 1 || ordinal > int64(c.block.Keys.Len()) {
			return 0, nil, errMeasureShape
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
		return errMeasureShape
	}
	if g == dropped {
		return nil
	}
	if c.taken != nil {
		if c.taken[g] {
			return errMeasureShape // two rows would be one group: each is bounded by itself
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
		return errMeasureShape
	}
	if g == dropped {
		return nil
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
	order := make([]int, len(c.found))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return compareKeys(c.found[a], c.found[b]) })
	c.m.keys = c.found
	return c.m.of(order)
}

// of takes groups in this order.
func (m measured) of(groups []int) measured {
	out := measured{keys: part{m.keys, groups}, units: pick(m.units, groups)}
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

// keyName is a group's identity: length-prefixed fields, so that no two keys share one.
func keyName(key []*rewrite.Canonical) string { return string(appendKeyName(nil, key)) }

func appendKeyName(to []byte, key []*rewrite.Canonical) []byte {
	for _, k := range key {
		to = appendKeyValue(to, k)
	}
	return to
}

// compareKeys orders keys of as many columns as their names are ordered.
func compareKeys(a, b []*rewrite.Canonical) int {
	for i, x := range a {
		y := b[i]
		if x != nil && y != nil && len(*x) == len(*y) {
			if order := strings.Compare(string(*x), string(*y)); order != 0 {
				return order
			}
			continue
		}
		if x == nil && y == nil {
			continue
		}
		var one, other [32]byte // their lengths, or that they are NULL, decide
		return bytes.Compare(appendKeyLength(one[:0], x), appendKeyLength(other[:0], y))
	}
	return 0
}

func appendKeyValue(to []byte, k *rewrite.Canonical) []byte {
	if to = appendKeyLength(to, k); k != nil {
		to = append(to, *k...)
	}
	return to
}

func appendKeyLength(to []byte, k *rewrite.Canonical) []byte {
	if k == nil {
		return append(to, "-;"...)
	}
	to = strconv.AppendInt(to, int64(len(*k)), 10)
	return append(to, ':')
}
