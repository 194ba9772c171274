package ledger

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"go.etcd.io/bbolt"
)

// derivation is what a full reading of the records gives.
type derivation struct {
	accounts map[string]account
	refused  map[string]refusals
	charged  []sums  // by period of the group
	late     account // its last is that of the latest charge of anybody; the rest is not used
	records  uint64
}

func newDerivation() *derivation {
	return &derivation{accounts: make(map[string]account), refused: make(map[string]refusals)}
}

// add takes an account's next record, with its bytes and the chain that was stored with it.
func (d *derivation) add(a *account, payload []byte, stored chain) error {
	where := func(err error) error { return fmt.Errorf("account %q, record %d: %w", a.name, a.n+1, err) }
	if a.chain.link(payload) != stored {
		return where(fmt.Errorf("checksum %x does not match", stored))
	}
	r, err := decodeRecord(payload)
	if err != nil {
		return where(err)
	}
	added, err := a.apply(r, payload)
	if err != nil {
		return where(err)
	}
	d.records++
	switch r.kind {
	case kindFail:
		if d.refused[a.name] == nil {
			d.refused[a.name] = make(refusals)
		}
		d.refused[a.name][r.fingerprint] = r.n
	case kindCharge:
		return d.chargeGroup(r, added)
	}
	return nil
}

// maxGroupPeriods bounds the memory that a damaged record can ask for.
const maxGroupPeriods = 1 << 20

// chargeGroup adds a charge to the group's period in which it was made.
func (d *derivation) chargeGroup(r *record, added sums) error {
	if r.group >= maxGroupPeriods {
		return fmt.Errorf("account %q, record %d: period %d of the group is beyond belief", r.analyst, r.n, r.group)
	}
	for uint64(len(d.charged)) <= r.group {
		d.charged = append(d.charged, sums{})
	}
	d.charged[r.group] = d.charged[r.group].add(added)
	if r.at.After(d.late.last) {
		d.late.last = r.at
	}
	return nil
}

// group completes the group account with the charges of its period.
func (d *derivation) group(g account) {
	if g.period < uint64(len(d.charged)) {
		g.sums = g.sums.add(d.charged[g.period])
	}
	if d.late.last.After(g.last) {
		g.last = d.late.last
	}
	d.accounts[groupName] = g
}

// replay derives an analyst's account from its bucket.
func (d *derivation) replay(name string, log *bbolt.Bucket) error {
	a := account{name: name}
	err := d.each(&a, log)
	d.accounts[name] = a
	return err
}

func (d *derivation) replayGroup(log *bbolt.Bucket) error {
	g := account{name: groupName}
	err := d.each(&g, log)
	d.group(g)
	return err
}

func (d *derivation) each(a *account, log *bbolt.Bucket) error {
	return log.ForEach(func(key, value []byte) error {
		if !bytes.Equal(key, recordKey(a.n+1)) {
			return fmt.Errorf("account %q, record %d: missing, %x comes next", a.name, a.n+1, key)
		}
		payload, stored, err := splitRecord(value)
		if err != nil {
			return fmt.Errorf("account %q, record %d: %w", a.name, a.n+1, err)
		}
		return d.add(a, payload, stored)
	})
}

// splitRecord separates a stored record from the chain behind it.
func splitRecord(value []byte) (payload []byte, stored chain, err error) {
	if len(value) < len(stored) {
		return nil, stored, errShort
	}
	payload = value[:len(value)-len(stored)]
	copy(stored[:], value[len(payload):])
	return payload, stored, nil
}

// compare checks that stored and derived accounts are the same.
func (d *derivation) compare(stored map[string]account) error {
	for _, name := range slices.Sorted(maps.Keys(stored)) {
		derived, known := d.accounts[name]
		if !known {
			return fmt.Errorf("account %q: its %d records are missing", name, stored[name].n)
		}
		if err := stored[name].differs(derived); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.accounts)) {
		if _, known := stored[name]; !known {
			return fmt.Errorf("account %q: its totals are missing", name)
		}
	}
	return nil
}

// differs says in what a stored account is not the one derived from its records.
func (a account) differs(derived account) error {
	where := func(what string, stored, derived any) error {
		return fmt.Errorf("account %q: its totals say %s %v, its records %v", a.name, what, stored, derived)
	}
	switch {
	case a.n != derived.n:
		return where("records", a.n, derived.n)
	case a.chain != derived.chain:
		return where("chain", fmt.Sprintf("%x", a.chain), fmt.Sprintf("%x", derived.chain))
	case a.period != derived.period || !a.start.Equal(derived.start):
		return where("period", a.start, derived.start)
	case a.cleared != derived.cleared:
		return where("latest clearing", a.cleared, derived.cleared)
	case a.failures != derived.failures:
		return where("failures", a.failures, derived.failures)
	case !a.last.Equal(derived.last):
		return where("latest record at", a.last, derived.last)
	case a.sums.pure != derived.sums.pure:
		return where("epsilon", a.sums.pure, derived.sums.pure)
	case a.sums.selection != derived.sums.selection:
		return where("selection delta", a.sums.selection.text(deltaDigits), derived.sums.selection.text(deltaDigits))
	case !slices.Equal(a.sums.renyi, derived.sums.renyi):
		return where("Rényi divergences", a.sums.renyi, derived.sums.renyi)
	}
	return nil
}
