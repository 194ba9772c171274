package ledger

import "time"

// book evaluates requests on copies of two accounts and collects the records that they make. It does no I/O: a store
// makes a book, calls the methods that decide, writes the entries, and only then keeps the accounts.
type book struct {
	rules   *rules
	now     time.Time // on the ledger's own time
	account account
	group   *account // nil: the store has no account of all analysts together
	refused func(fingerprint string, cleared uint64) bool
	entries []entry
}

// newBook returns a book on copies of accounts as they are at now. refused says whether a fingerprint of account has
// failed since the record with the number cleared; methods that charge nothing do not call it.
func newBook(r *rules, now time.Time, a account, group *account, refused func(fingerprint string, cleared uint64) bool) *book {
	return &book{rules: r, now: clock(now, &a, group), account: a, group: group, refused: refused}
}

// entry is a record as a store writes it.
type entry struct {
	*record
	payload []byte
	chain   chain
}

// clock returns t on the ledger's own time: in whole microseconds, and never before the latest record.
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
		b.entries = append(b.entries, entry{r, payload, a.chain})
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

// elapsed returns when the period that holds at now began, and whether that is a later one than a's. Periods follow each
// other without gaps from the first one on, so that a late statement does not shift them.
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

// spend admits all charges or none. An error leaves the book unchanged.
func (b *book) spend(charges []Charge) (Balance, error) {
	own, known := b.rules.limits[b.account.name]
	if !known {
		return Balance{}, errNoBudget(b.account.name)
	}
	if err := b.checkFailures(); err != nil {
		return Balance{}, err
	}
	for _, c := range charges {
		if b.refused(c.Fingerprint, b.account.cleared) {
			return Balance{}, errRefused()
		}
	}
	try := *b
	try.entries = b.entries[:len(b.entries):len(b.entries)]
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

// charge adds all charges to the accounts and asks both budgets.
func (b *book) charge(charges []Charge, own limit) error {
	if err := b.open(&b.account); err != nil {
		return InvalidCharge{err}
	}
	var groupPeriod uint64
	var before sums
	if b.group != nil {
		if err := b.open(b.group); err != nil {
			return InvalidCharge{err}
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
			return InvalidCharge{err}
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

// balance returns the account's balance now. A period that is over counts as renewed, though only a charge records that.
func (b *book) balance() Balance { return b.rules.balance(b.account, b.now) }

// summary describes the account for an administrator, without its refused statements.
func (b *book) summary() AccountSummary { return b.rules.describe(b.account, 0, b.now) }

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

// reset opens a new period now. Earlier records stay.
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
