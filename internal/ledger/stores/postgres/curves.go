package postgres

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/ledger/accounting"
)

// curves remembers which curves are stored, so that a charge sends its own only where it is a new one.
type curves struct {
	mu    sync.Mutex
	known map[accounting.CurveID]bool
}

// curvesKnown bounds the memory for them.
const curvesKnown = 1 << 16

// put queues the storing of the curves that entries name and that are not known to be there. Call keep once that is
// committed.
func (c *curves) put(store *pipeline, entries []accounting.Entry) (keep func()) {
	fresh := make(map[accounting.CurveID][]byte)
	c.mu.Lock()
	for _, e := range entries {
		if e.Curve != nil && !c.known[e.CurveID] {
			fresh[e.CurveID] = e.Curve
		}
	}
	c.mu.Unlock()
	if len(fresh) == 0 {
		return func() {}
	}
	var ids, values [][]byte
	// In one order, so that no two transactions wait for each other's curves.
	for _, id := range slices.SortedFunc(maps.Keys(fresh), func(a, b accounting.CurveID) int {
		return bytes.Compare(a[:], b[:])
	}) {
		ids, values = append(ids, id[:]), append(values, fresh[id])
	}
	store.exec(`INSERT INTO dpproxy_ledger.curve SELECT * FROM unnest($1::bytea[], $2::bytea[]) ON CONFLICT DO NOTHING`,
		ids, values)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.known == nil || len(c.known)+len(fresh) > curvesKnown {
			c.known = make(map[accounting.CurveID]bool)
		}
		for id := range fresh {
			c.known[id] = true
		}
	}
}

// curvesNamed reads the curves with some names. Those that are missing are not in the result.
const curvesNamed = `SELECT id, divergences FROM dpproxy_ledger.curve WHERE id = ANY ($1)`

// curveNames are those that records refer to, each once.
type curveNames map[accounting.CurveID]bool

func (c curveNames) add(payload []byte) {
	if id, ok := accounting.CurveOf(payload); ok {
		c[id] = true
	}
}

func (c curveNames) list() (ids [][]byte) {
	for id := range c {
		ids = append(ids, id[:])
	}
	return ids
}

// curvesRead holds what curvesNamed has read.
type curvesRead map[accounting.CurveID][]byte

func (c curvesRead) scan(row pgx.Rows) error {
	var name, b []byte
	err := row.Scan(&name, &b)
	var id accounting.CurveID
	copy(id[:], name)
	c[id] = b
	return err
}

// find is the accounting.Curves of those.
func (c curvesRead) find(id accounting.CurveID) ([]byte, error) {
	b, ok := c[id]
	if !ok {
		return nil, fmt.Errorf("curve %x is missing", id)
	}
	return b, nil
}
