package accounting

import (
	"time"

	"github.com/dpproxy/dpproxy/internal/ledger"
)

// Book decides requests on copies of two accounts and collects the records that result. A store makes a book, calls the
// methods that decide, writes the entries, and only then keeps the accounts.
type Book struct {
	Rules   *Rules
	now     time.Time // not before the latest record
	Account Account
	Group   *Account // nil: the store has no account of all analysts together
	Entries []Entry
}

// NewBook returns a book on copies of accounts as they are at now.
func NewBook(r *Rules, now time.Time, a Account, group *Account) *Book {
	return &Book{Rules: r, now: NotBefore(now, &a, group), Account: a, Group: group}
}

// Entry is a record as a store writes it.
type Entry struct {
	*Record
	Payload []byte
	Chain   Chain
	Curve   []byte // of Record.CurveID, to be stored once; nil: the record names none
}

// NotBefore returns t in whole microseconds, or the time of the accounts' latest record if that is later: a clock that
// is set back must not refill a budget.
func NotBefore(t time.Time, accounts ...*Account) time.Time {
	t = t.UTC().Truncate(time.Microsecond)
	for _, a := range accounts {
		if a != nil && a.last.After(t) {
			t = a.last
		}
	}
	return t
}

// write appends one record to a and returns what it adds to the sums. A checkpoint follows if enough records have since
// the last one.
func (b *Book) write(a *Account, r *Record) (sums, error) {
	r.At = b.now
	var curve []byte
	if r.Curve.Renyi != nil {
		r.CurveID, curve = encodeCurve(r.Curve.Renyi)
	}
	payload, added, err := a.append(r)
	if err != nil {
		return added, err
	}
	b.Entries = append(b.Entries, Entry{r, payload, a.chain, curve})
	// The records of all analysts together are few, and do not say what was charged.
	if a.Name != GroupName && a.Records-a.Checkpoint >= b.Rules.checkpointEvery() {
		_, err = b.write(a, &Record{Kind: KindCheckpoint, State: a.Encode()})
	}
	return added, err
}

// open begins a's first period, or the next one where `every` has passed.
func (b *Book) open(a *Account) (err error) {
	if a.Records == 0 {
		_, err = b.write(a, &Record{Kind: KindPeriod, Cause: causeFirst, Start: b.now})
	} else if start, elapsed := a.elapsed(b.Rules.every(a.Name), b.now); elapsed {
		_, err = b.write(a, &Record{
			Kind: KindPeriod, Cause: causeElapsed, Period: a.period + 1, Start: start, Failures: b.Rules.carried(*a),
		})
	}
	return err
}

// elapsed returns when the period that holds at now began, and whether that is a later one than a's. Periods follow
// each other without gaps from the first one on, so that a late statement does not shift them.
func (a *Account) elapsed(every time.Duration, now time.Time) (time.Time, bool) {
	if a.Records == 0 || every <= 0 {
		return a.start, false
	}
	passed := now.Sub(a.start)
	if passed < every {
		return a.start, false
	}
	return a.start.Add(passed - passed%every), true
}

// Spend admits all charges or none. An error leaves the book unchanged. A statement that has begun goes by the rules of
// its first charge; what else the book decides does not.
func (b *Book) Spend(charges []ledger.Charge) (ledger.Balance, error) {
	statement, try := begun{}, *b
	for _, c := range charges {
		if before, ok := c.Begun.(begun); ok {
			statement, try.Rules = before, before.rules
		}
		if c.Method != "" && c.Method != try.Rules.Method {
			return ledger.Balance{}, ledger.ErrReplanned
		}
	}
	own, known := try.Rules.limit(b.Account.Name)
	if !known {
		return ledger.Balance{}, errNoBudget(b.Account.Name)
	}
	if err := try.CheckFailures(); err != nil {
		return ledger.Balance{}, err
	}
	for _, c := range charges {
		if b.Account.Refuses(c.Fingerprint) {
			return ledger.Balance{}, errRefused()
		}
	}
	try.Entries = b.Entries[:len(b.Entries):len(b.Entries)]
	if b.Group != nil {
		group := *b.Group
		try.Group = &group
	}
	shares, added, err := try.charge(charges, own)
	if err != nil {
		return ledger.Balance{}, err
	}
	statement = begun{try.Rules, statement.sums.add(added)}
	balance := try.Balance()
	balance.Shares, balance.Begun, balance.Enough = shares, statement, own.enough(try.Account.sums, statement.sums)
	if all, limited := try.Rules.limits[GroupName]; limited && try.Group != nil {
		balance.Enough = min(balance.Enough, all.enough(try.Group.sums, statement.sums))
	}
	b.Account, b.Group, b.Entries = try.Account, try.Group, try.Entries
	return balance, nil
}

// begun is ledger.Begun: the rules that a statement goes by, and what it has cost so far.
type begun struct {
	rules *Rules
	sums  sums
}

// charge adds all charges to the accounts and asks both budgets. It returns the share of the own budget that each
// takes, and what they add to the sums.
func (b *Book) charge(charges []ledger.Charge, own limit) (shares []float64, sum sums, err error) {
	if err := b.open(&b.Account); err != nil {
		return nil, sum, ledger.InvalidCharge{Reason: err}
	}
	var groupPeriod uint64
	var before sums
	if b.Group != nil {
		if err := b.open(b.Group); err != nil {
			return nil, sum, ledger.InvalidCharge{Reason: err}
		}
		groupPeriod, before = b.Group.period, b.Group.sums
	}
	ownBefore, used := b.Account.sums, own.used(b.Account.sums)
	for _, c := range charges {
		kind := KindCharge
		if c.Shared && b.Rules.BoundsGroup() {
			kind = KindShared
		}
		r := &Record{
			Kind: kind, GroupPeriod: groupPeriod, Fingerprint: c.Fingerprint, Query: c.Query, PolicyVersion: c.Policy,
			Method: b.Rules.Method, Epsilon: c.Epsilon, SelectionDelta: c.SelectionDelta, Curve: c.Curve,
		}
		added, err := b.write(&b.Account, r)
		if err != nil {
			return nil, sum, ledger.InvalidCharge{Reason: err}
		}
		now := own.used(b.Account.sums)
		shares, used, sum = append(shares, now-used), now, sum.add(added)
		if b.Group != nil {
			if b.Group.last = b.now; kind == KindCharge {
				b.Group.sums = b.Group.sums.add(added)
			}
		}
	}
	if !own.admits(b.Account.sums) {
		return nil, sum, errOverBudget(b.Account.Name, ownBefore, b.Account.sums, own, b.Account)
	}
	if all, limited := b.Rules.limits[GroupName]; limited && b.Group != nil && !all.admits(b.Group.sums) {
		return nil, sum, errOverBudget(GroupName, before, b.Group.sums, all, *b.Group)
	}
	return shares, sum, nil
}

// Balance returns the account's balance now. A period that is over counts as renewed, though only a charge records
// that.
func (b *Book) Balance() ledger.Balance { return b.Rules.balance(b.Account, b.now) }

// Summary describes the account for an administrator.
func (b *Book) Summary() ledger.AccountSummary { return b.Rules.describe(b.Account, b.now) }

func (r *Rules) balance(a Account, now time.Time) ledger.Balance {
	own, known := r.limit(a.Name)
	if !known {
		return ledger.Balance{}
	}
	start, elapsed := a.elapsed(own.every, now)
	if elapsed {
		a.sums = sums{}
	}
	out := own.balance(a.sums)
	if own.every > 0 {
		if a.Records == 0 {
			start = now
		}
		out.PeriodEnds = start.Add(own.every)
	}
	return out
}

// Clear forgets the account's failures and refused statements, and returns the number of the latter. If there are none
// it writes nothing.
func (b *Book) Clear() (int, error) {
	count := b.Account.Refused()
	if count == 0 {
		return 0, nil
	}
	_, err := b.write(&b.Account, &Record{Kind: KindClear})
	return count, err
}

// Reset opens a new period now. Earlier records stay.
func (b *Book) Reset() error {
	r := &Record{
		Kind: KindPeriod, Cause: causeReset, Period: b.Account.period + 1, Start: b.now, Failures: b.Rules.carried(b.Account),
	}
	if b.Account.Records == 0 {
		r.Cause, r.Period = causeFirst, 0
	}
	_, err := b.write(&b.Account, r)
	return err
}
