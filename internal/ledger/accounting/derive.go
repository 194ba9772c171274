package accounting

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/dpproxy/dpproxy/internal/ledger"
)

// Derivation adds up records: every total that a ledger stores follows from them. Feed it each account's records in
// their order, then call Finish.
type Derivation struct {
	Accounts map[string]Account
	Refused  Refusals
	records  uint64
	charged  []sums    // of all analysts, by period of the group
	latest   time.Time // of all charges
}

func NewDerivation() *Derivation {
	return &Derivation{Accounts: make(map[string]Account), Refused: make(Refusals)}
}

// Next returns the number of the record that is due in an account.
func (d *Derivation) Next(name string) uint64 { return d.Accounts[name].Records + 1 }

// Add takes an account's next record, with its bytes and the chain that was stored with it.
func (d *Derivation) Add(name string, payload []byte, stored Chain) error {
	a, known := d.Accounts[name]
	if !known {
		a = NewAccount(name)
	}
	if err := d.apply(&a, payload, stored); err != nil {
		return RecordError(name, d.Next(name), err)
	}
	d.Accounts[name] = a
	d.records++
	return nil
}

func (d *Derivation) apply(a *Account, payload []byte, stored Chain) error {
	if a.chain.link(payload) != stored {
		return fmt.Errorf("checksum %x does not match", stored)
	}
	r, err := DecodeRecord(payload)
	if err != nil {
		return err
	}
	added, err := a.apply(r, payload)
	if err != nil {
		return err
	}
	switch r.Kind {
	case KindFail:
		d.Refused.Add(r)
	case KindCharge:
		return d.chargeGroup(r, added)
	}
	return nil
}

// maxGroupPeriods bounds the memory that a damaged record can ask for.
const maxGroupPeriods = 1 << 20

// chargeGroup adds a charge to the group's period in which it was made.
func (d *Derivation) chargeGroup(r *Record, added sums) error {
	if r.GroupPeriod >= maxGroupPeriods {
		return fmt.Errorf("period %d of all analysts together exceeds the limit of %d: the record is damaged", r.GroupPeriod, maxGroupPeriods)
	}
	for uint64(len(d.charged)) <= r.GroupPeriod {
		d.charged = append(d.charged, sums{})
	}
	d.charged[r.GroupPeriod] = d.charged[r.GroupPeriod].add(added)
	if r.At.After(d.latest) {
		d.latest = r.At
	}
	return nil
}

// Finish completes the account of all analysts together, if there is one: its own records say only when its periods
// began.
func (d *Derivation) Finish() {
	if g, ok := d.Accounts[GroupName]; ok {
		d.Accounts[GroupName] = d.complete(g)
	}
}

// complete adds the charges of the group's period to its account.
func (d *Derivation) complete(g Account) Account {
	if g.period < uint64(len(d.charged)) {
		g.sums = g.sums.add(d.charged[g.period])
	}
	if d.latest.After(g.last) {
		g.last = d.latest
	}
	return g
}

// OpenGroup begins the account of all analysts together in a ledger that has none. Everything that was charged before
// counts in it.
func (d *Derivation) OpenGroup(r *Rules, now time.Time) (Account, Entry, error) {
	b := NewBook(r, now, NewAccount(GroupName), &Account{last: d.latest}, nil)
	if err := b.open(&b.Account); err != nil {
		return Account{}, Entry{}, err
	}
	return d.complete(b.Account), b.Entries[0], nil
}

// Report counts what was added up.
func (d *Derivation) Report() ledger.Report {
	return ledger.Report{Accounts: len(d.Accounts), Records: d.records}
}

// Compare returns an error unless the stored accounts equal the derived ones.
func (d *Derivation) Compare(stored map[string]Account) error {
	for _, name := range slices.Sorted(maps.Keys(stored)) {
		derived, known := d.Accounts[name]
		if !known {
			return fmt.Errorf("%s: its %d records are missing", title(name), stored[name].Records)
		}
		if err := stored[name].differs(derived); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.Accounts)) {
		if _, known := stored[name]; !known {
			return fmt.Errorf("%s: its totals are missing", title(name))
		}
	}
	return nil
}

// differs returns an error that names the first difference of a stored account from the one derived from its records.
func (a Account) differs(derived Account) error {
	where := func(what string, stored, derived any) error {
		return fmt.Errorf("%s: its totals say %s %v, its records say %v", title(a.Name), what, stored, derived)
	}
	switch {
	case a.Records != derived.Records:
		return where("records", a.Records, derived.Records)
	case a.chain != derived.chain:
		return where("chain", fmt.Sprintf("%x", a.chain), fmt.Sprintf("%x", derived.chain))
	case a.period != derived.period || !a.start.Equal(derived.start):
		return where("period", a.start, derived.start)
	case a.Cleared != derived.Cleared:
		return where("latest clearing", a.Cleared, derived.Cleared)
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
