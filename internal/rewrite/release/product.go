package release

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"

	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// product are the keys of a block: every combination of its domains, of which the last runs fastest. It holds the
// domains alone, since there may be a million combinations. It implements schema.Keys.
type product struct {
	size    int
	columns []coordinate
	domains []*schema.Table
}

// coordinate finds a key's value: its domain changes every stride groups.
type coordinate struct {
	table          *schema.Table
	column, stride int
}

// Product lists the keys in the order of their ordinals.
func (k *Block) Product() schema.Keys {
	p := &product{size: 1, columns: make([]coordinate, len(k.Keys))}
	for i := len(k.Domains) - 1; i >= 0; i-- {
		d := k.Domains[i]
		for column, at := range d.At {
			p.columns[at] = coordinate{d.Tuples, column, p.size}
		}
		p.size *= d.Tuples.Len()
		p.domains = append(p.domains, d.Tuples)
	}
	return p
}

// KeyBytes is about how much memory declared keys take.
func KeyBytes(keys schema.Keys) (n int) {
	if p, ok := keys.(*product); ok {
		for _, t := range p.domains {
			n += t.Bytes()
		}
	}
	return n
}

// Len implements schema.Keys.
func (p *product) Len() int { return p.size }

// Value implements schema.Keys.
func (p *product) Value(group, column int) (v schema.Canonical, notNull bool) {
	c := p.columns[column]
	return c.table.Value(group/c.stride%c.table.Len(), c.column)
}

// MarshalJSON returns a digest of the keys: a plan's fingerprint is made of JSON.
func (p *product) MarshalJSON() ([]byte, error) {
	h := sha256.New()
	for _, t := range p.domains {
		t.Hash(h)
	}
	for _, c := range p.columns {
		_ = binary.Write(h, binary.BigEndian, [2]int64{int64(c.column), int64(c.stride)}) // a hash takes everything
	}
	return json.Marshal(h.Sum(nil))
}
