package accounting

import (
	"slices"

	"github.com/dpproxy/dpproxy/internal/ledger"
)

// Past derives an analyst's history. Add the account's records to it in their order, from one on that is a Start.
type Past struct {
	own     limit
	listed  bool
	costs   *Derivation
	sums    sums
	entries []ledger.HistoryEntry
}

// Past returns the history of an analyst, of whom nothing is known yet.
func (r *Rules) Past(analyst string, curves Curves) *Past {
	own, listed := r.limit(analyst)
	return &Past{own: own, listed: listed, costs: NewDerivation(curves)}
}

// Start reports whether a record tells what its period has spent before it: history may begin there.
func (k Kind) Start() bool { return k == KindPeriod || k == KindCheckpoint }

// Add takes the account's next record.
func (p *Past) Add(payload []byte) error {
	r, err := DecodeRecord(payload)
	if err != nil {
		return err
	}
	switch r.Kind {
	case KindPeriod:
		p.sums = sums{}
	case KindCheckpoint:
		a, err := decodeAnyAccount(r.State)
		if err != nil {
			return err
		}
		p.sums = a.sums
	case KindCharge, KindShared:
		added, err := p.costs.cost(r)
		if err != nil {
			return err
		}
		before := p.spent()
		p.sums = p.sums.add(added)
		e := r.HistoryEntry()
		e.Share = p.spent() - before
		p.entries = append(p.entries, e)
	}
	return nil
}

// spent is the share of the budget that the period has spent so far; 0 of an analyst who has none now.
func (p *Past) spent() float64 {
	if !p.listed {
		return 0
	}
	return min(p.own.used(p.sums), 1)
}

// Latest returns the charges, latest first. A limit ≤ 0 means no limit.
func (p *Past) Latest(limit int) []ledger.HistoryEntry {
	slices.Reverse(p.entries)
	if limit > 0 && len(p.entries) > limit {
		p.entries = p.entries[:limit]
	}
	return p.entries
}
