package ledger

import (
	"time"
)

// book evaluates requests on copies of two accounts and collects the records that they make. It does no I/O: a store
// loads it, lets it decide, writes what it made, and only then keeps the accounts.
type book struct {
	rules   *rules
	now     time.Time // by the store's clock, not before any record
	account account
	group   *account // nil: the store keeps none
	failed  func(fingerprint string, n uint64) bool
	lines   []line
}

// line is a record with its bytes and its place.
type line struct {
	*record
	payload []byte
	chain   chain
}

// clock returns t on the ledger's own time: never before what was recorded, in whole microseconds.
func clock(t time.Time, accounts ...*account) time.Time {
	t = t.UTC().Truncate(time.Microsecond)
	for _, a := range accounts {
		if a != nil && a.last.After(t) {
			t = a.last
		}
	}
	return t
}

// write appends one record to a and returns what it adds to the sums.
func (b *book) write(a *account, r *record) (sums, error) {
	r.at = b.now
	payload, added, err := a.append(r)
	if err == nil {
		b.lines = append(b.lines, line{r, payload, a.chain})
	}
	return added, err
}

// open begins a's first period, or the next one where `every` has passed.
func (b *book) open(a *account) (err error) {
	if a.n == 0 {
		_, err = b.write(a, &record{kind: kindPeriod, cause: causeFirst, start: b.now})
	} else if start, elapsed := a.elapsed(b.rules.limits[a.name].every, b.now); elapsed {
		_, err = b.write(a, &record{
			kind: kindPeriod, cause: causeElapsed, period: a.period + 1, start: start, failures: b.rules.carried(*a),
		})
	}
	return err
}

// elapsed tells whether a's period is over at now, and when the one that holds now began. Periods follow each other
// without gaps from the first one on, so that a late statement does not shift them.
func (a *account) elapsed(every time.Duration, now time.Time) (time.Time, bool) {
	if a.n == 0 || every <= 0 {
		return a.start, false
	}
	passed := now.Sub(a.start)
	if passed < every {
		return a.start, false
	}
	return a.start.Add(passed - passed%every), true
}

// spend admits all charges or none. After an error the book is as before.
func (b *book) spend(charges []Charge) (Balance, error) {
	own, known := b.rules.limits[b.account.name]
	if !known {
		return Balance{}, errNoBudget(b.account.name)
	}
	if err := b.checkFailures(); err != nil {
		return Balance{}, err
	}
	for _, c := range charges {
		if b.failed(c.Fingerprint, b.account.cleared) {
			return Balance{}, errRefused()
		}
	}
	try := *b
	try.lines = b.lines[:len(b.lines):len(b.lines)]
	if b.group != nil {
		group := *b.group
		try.group = &group
	}
	if err := try.charge(charges, own); err != nil {
		return Balance{}, err
	}
	*b = try
	return b.balance(), nil
}

func (b *book) charge(charges []Charge, own limit) error {
	if err := b.open(&b.account); err != nil {
		return errBadCharge(b.rules.Log, err)
	}
	var groupPeriod uint64
	var before sums
	if b.group != nil {
		if err := b.open(b.group); err != nil {
			return errBadCharge(b.rules.Log, err)
		}
		groupPeriod, before = b.group.period, b.group.sums
	}
	ownBefore := b.account.sums
	for _, c := range charges {
		r := &record{
			kind: kindCharge, group: groupPeriod, fingerprint: c.Fingerprint, query: c.Query, version: c.Policy,
			method: b.rules.Method, epsilon: c.Epsilon, selection: c.SelectionDelta, curve: c.Curve,
		}
		added, err := b.write(&b.account, r)
		if err != nil {
			return errBadCharge(b.rules.Log, err)
		}
		if b.group != nil {
			b.group.sums = b.group.sums.add(added)
			b.group.last = b.now
		}
	}
	if !own.admits(b.account.sums) {
		return errOverBudget(b.account.name, ownBefore, b.account.sums, own, b.account)
	}
	if all, limited := b.rules.limits[groupName]; limited && b.group != nil && !all.admits(b.group.sums) {
		return errOverBudget(groupName, before, b.group.sums, all, *b.group)
	}
	return nil
}

// balance is the account's at b.now: a period that is over counts as renewed, though only a charge writes that down.
func (b *book) balance() Balance { return b.rules.balance(b.account, b.now) }

func (r *rules) balance(a account, now time.Time) Balance {
	own, known := r.limits[a.name]
	if !known {
		return Balance{}
	}
	start, elapsed := a.elapsed(own.every, now)
	if elapsed {
		a.sums = sums{}
	}
	out := own.balance(a.sums)
	if own.every > 0 {
		if a.n == 0 {
			start = now
		}
		out.PeriodEnds = start.Add(own.every)
	}
	return out
}

// clear forgets the account's failures and its refused fingerprints.
func (b *book) clear() error {
	_, err := b.write(&b.account, &record{kind: kindClear})
	return err
}

// reset opens a new period now. What was recorded stays.
func (b *book) reset() error {
	r := &record{
		kind: kindPeriod, cause: causeReset, period: b.account.period + 1, start: b.now, failures: b.rules.carried(b.account),
	}
	if b.account.n == 0 {
		r.cause, r.period = causeFirst, 0
	}
	_, err := b.write(&b.account, r)
	return err
}
