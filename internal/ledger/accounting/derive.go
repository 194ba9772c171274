package accounting

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// Derivation adds up records: every total that a ledger stores follows from them. Feed it each account's records in
// their order, from the first or from a checkpoint on, then call Finish. Sums are integers that stop at the largest
// one, so they are the same in whatever order and from whichever checkpoint records are added up.
type Derivation struct {
	Accounts map[string]Account
	curves   Curves
	costs    map[costKey]sums // of charges that came before
	report   ledger.Report
}

// costKey is all that the cost of a record depends on.
type costKey struct {
	method                   policy.Method
	curve                    CurveID
	epsilon, pure, selection float64
}

// costsKept bounds the memory for costs: most records repeat those of a few kinds of statements.
const costsKept = 4096

func NewDerivation(curves Curves) *Derivation {
	return &Derivation{Accounts: make(map[string]Account), curves: curves, costs: make(map[costKey]sums)}
}

// Next returns the number of the record that is due in an account.
func (d *Derivation) Next(name string) uint64 { return d.Accounts[name].Records + 1 }

// Resume begins an account at a checkpoint: its record of that number, with its bytes and the chain that was stored
// with it.
func (d *Derivation) Resume(name string, number uint64, payload []byte, stored Chain) error {
	a, err := resume(name, payload, stored)
	if err == nil && a.Records != number {
		err = fmt.Errorf("has number %d", a.Records)
	}
	if err != nil {
		return RecordError(name, number, err)
	}
	d.Accounts[name] = a
	return nil
}

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
	d.report.Records++
	return nil
}

func (d *Derivation) apply(a *Account, payload []byte, stored Chain) error {
	if a.chain.link(payload) != stored {
		return errChecksum(stored)
	}
	r, err := DecodeRecord(payload)
	if err != nil {
		return err
	}
	if r.Kind == KindCheckpoint {
		d.report.Checkpoints++
	}
	_, err = a.apply(r, payload, d.cost)
	return err
}

// errChecksum is the error of a record that is not the one whose chain is stored.
func errChecksum(stored Chain) error { return fmt.Errorf("checksum %x does not match", stored) }

// cost is costOf for a record whose curve is stored apart.
func (d *Derivation) cost(r *Record) (sums, error) {
	key := costKey{r.Method, r.CurveID, r.Epsilon, r.Curve.Pure, r.SelectionDelta}
	if known, ok := d.costs[key]; ok {
		return known, nil
	}
	if err := r.find(d.curves); err != nil {
		return sums{}, err
	}
	added, err := costOf(r)
	if err != nil {
		return sums{}, err
	}
	if len(d.costs) >= costsKept {
		clear(d.costs)
	}
	d.costs[key] = added
	return added, nil
}

// Finish completes the account of all analysts together, if there is one: its own records say only when its periods
// began.
func (d *Derivation) Finish() {
	if g, ok := d.Accounts[GroupName]; ok {
		d.Accounts[GroupName] = Together(g, d.Accounts)
	}
	d.report.Accounts = len(d.Accounts)
}

// Together adds what accounts were charged in the group's period to its account.
func Together(g Account, accounts map[string]Account) Account {
	for name, a := range accounts {
		if name == GroupName {
			continue
		}
		if a.groupPeriod == g.period {
			g.sums = g.sums.add(a.groupSums)
		}
		if a.charged.After(g.last) {
			g.last = a.charged
		}
	}
	return g
}

// OpenGroup begins the account of all analysts together in a ledger that has none. Everything that the accounts were
// charged before counts in it.
func OpenGroup(r *Rules, now time.Time, accounts map[string]Account) (Account, Entry, error) {
	before := Together(NewAccount(GroupName), accounts)
	b := NewBook(r, now, NewAccount(GroupName), &before)
	if err := b.open(&b.Account); err != nil {
		return Account{}, Entry{}, err
	}
	return Together(b.Account, accounts), b.Entries[0], nil
}

// Report counts what was added up.
func (d *Derivation) Report() ledger.Report { return d.report }

// Compare returns an error unless the stored accounts equal the derived ones.
func (d *Derivation) Compare(stored map[string]Account) error {
	for _, name := range slices.Sorted(maps.Keys(stored)) {
		derived, known := d.Accounts[name]
		if !known {
			return fmt.Errorf("%s: its %d records are missing", title(name), stored[name].Records)
		}
		if err := stored[name].differs("its totals say", derived); err != nil {
			return AccountError(name, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.Accounts)) {
		if _, known := stored[name]; !known {
			return fmt.Errorf("%s: its totals are missing", title(name))
		}
	}
	return nil
}
