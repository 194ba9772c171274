package gate

import (
	"hash/maphash"
	"math/bits"

	"github.com/dpproxy/dpproxy/internal/rewrite"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// places finds keys in a list of many: a table of hashes that holds a place for each key, and not the key.
type places struct {
	keys    rewrite.Keys
	columns int
	seed    maphash.Seed
	slots   []uint32 // 1 + the place of a key, near its hash; 0: free
	name    []byte   // of the key that is looked for, and
	other   []byte   // of one in the list
}

func newPlaces(keys rewrite.Keys, columns int) *places {
	p := &places{keys: keys, columns: columns, seed: maphash.MakeSeed()}
	p.fill(keys.Len())
	return p
}

// fill makes a table of the first n keys, of which a third is free at least.
func (p *places) fill(n int) {
	p.slots = make([]uint32, 1<<bits.Len(uint(n)*3/2))
	for g := range n {
		p.put(g)
	}
}

func (p *places) put(g int) {
	p.other = p.listed(g)
	at := p.slot(p.other)
	for p.slots[at] != 0 {
		at = p.next(at)
	}
	p.slots[at] = uint32(g) + 1
}

// add adds the g-th key, which is the last of the list.
func (p *places) add(g int) {
	if (g+1)*3/2 >= len(p.slots) {
		p.fill(g + 1)
		return
	}
	p.put(g)
}

// listed names a key of the list.
func (p *places) listed(g int) []byte {
	name := p.other[:0]
	for column := range p.columns {
		name = schema.AppendKeyValue(name, p.keys, g, column)
	}
	return name
}

func (p *places) slot(name []byte) int {
	return int(maphash.Bytes(p.seed, name)) & (len(p.slots) - 1)
}

func (p *places) next(at int) int { return (at + 1) & (len(p.slots) - 1) }

// of gives the first place of a key, or dropped.
func (p *places) of(key []*rewrite.Canonical) int {
	p.name = schema.AppendKeyName(p.name[:0], key)
	for at := p.slot(p.name); p.slots[at] != 0; at = p.next(at) {
		g := int(p.slots[at] - 1)
		if p.other = p.listed(g); string(p.other) == string(p.name) {
			return g
		}
	}
	return dropped
}
