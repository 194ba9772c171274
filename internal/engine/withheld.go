package engine

import (
	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// Withhold has nothing be read as public, or what was withheld be read again: it is not certain any more that the rows are nobody's, as
// where a public table leads to people now (docs/privacy.md P30). What was read before is forgotten.
func (e *Engine) Withhold(public bool) {
	if e.withheld.Swap(public) == public || !public {
		return
	}
	for {
		old := e.state.Load()
		fresh := *old
		fresh.lookups = newLookups()
		if e.state.CompareAndSwap(old, &fresh) {
			return
		}
	}
}

// mayRead refuses to read public rows while they are withheld.
func (e *Engine) mayRead(on rewrite.Route) error {
	if on != rewrite.RoutePublic || !e.withheld.Load() {
		return nil
	}
	return refusal.New(refusal.Database, "public tables are withheld: the main database has changed",
		pgerr.Hint("Nothing was charged. Ask again later, or tell the administrator: the proxy's log says what has changed."))
}
