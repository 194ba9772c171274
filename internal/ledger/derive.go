package ledger

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// derivation adds up records: every total that a ledger stores follows from them. Feed it each account's records in
// their order, then call finish.
type derivation struct {
	accounts map[string]account
	refused  refusals
	records  uint64
	charged  []sums    // of all analysts, by period of the group
	latest   time.Time // of all charges
}

func newDerivation() *derivation {
	return &derivation{accounts: make(map[string]account), refused: make(refusals)}
}

// next returns the number of the record that is due in an account.
func (d *derivation) next(name string) uint64 { return d.accounts[name].n + 1 }

// add takes an account's next record, with its bytes and the chain that was stored with it.
func (d *derivation) add(name string, payload []byte, stored chain) error {
	a, known := d.accounts[name]
	if !known {
		a = newAccount(name)
	}
	if err := d.apply(&a, payload, stored); err != nil {
		return fmt.Errorf("account %q, record %d: %w", name, d.next(name), err)
	}
	d.accounts[name] = a
	d.records++
	return nil
}

func (d *derivation) apply(a *account, payload []byte, stored chain) error {
	if a.chain.link(payload) != stored {
		return fmt.Errorf("checksum %x does not match", stored)
	}
	r, err := decodeRecord(payload)
	if err != nil {
		return err
	}
	added, err := a.apply(r, payload)
	if err != nil {
		return err
	}
	switch r.kind {
	case kindFail:
		d.refused.add(r)
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
		return fmt.Errorf("period %d of all analysts together exceeds the limit of %d: the record is damaged", r.group, maxGroupPeriods)
	}
	for uint64(len(d.charged)) <= r.group {
		d.charged = append(d.charged, sums{})
	}
	d.charged[r.group] = d.charged[r.group].add(added)
	if r.at.After(d.latest) {
		d.latest = r.at
	}
	return nil
}

// finish completes the account of all analysts together, if there is one: its own records say only when its periods
// began.
func (d *derivation) finish() {
	if g, ok := d.accounts[groupName]; ok {
		d.accounts[groupName] = d.complete(g)
	}
}

// complete adds the charges of the group's period to its account.
func (d *derivation) complete(g account) account {
	if g.period < uint64(len(d.charged)) {
		g.sums = g.sums.add(d.charged[g.period])
	}
	if d.latest.After(g.last) {
		g.last = d.latest
	}
	return g
}

// openGroup begins the account of all analysts together in a ledger that has none. Everything that was charged before
// counts in it.
func (d *derivation) openGroup(r *rules, now time.Time) (account, entry, error) {
	b := newBook(r, now, newAccount(groupName), &account{last: d.latest}, nil)
	if err := b.open(&b.account); err != nil {
		return account{}, entry{}, err
	}
	return d.complete(b.account), b.entries[0], nil
}

// report counts what was added up.
func (d *derivation) report() Report { return Report{Accounts: len(d.accounts), Records: d.records} }

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
