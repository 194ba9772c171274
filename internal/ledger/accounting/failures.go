package accounting

import (
	"time"

	"github.com/dpproxy/dpproxy/internal/ledger"
)

// Failures of main are outside ε: whether a statement fails may depend on private rows. Their number bounds what an
// analyst can learn from them (docs/threat-model.md, «What failures of main tell»). An account counts them. At the
// limit of the policy no statement of the analyst is charged and no measured answer is given until `budget clear`.
//
// The bound holds for any number of sessions and proxies. The store puts the outcomes of an analyst's statements in one
// order: it counts a failure, on disk, before the analyst may see it (fail), and an answer is given only if the limit
// is not reached (checkFailures). So all statements in flight when the last failure is counted end in the same way.

// CheckFailures refuses the account once its failures are used up.
func (b *Book) CheckFailures() error {
	if used := b.Rules.failures(b.Account, b.now); used >= uint64(b.Rules.Failures) {
		return errFailuresUsedUp(b.Account.Name, used, b.Rules.Failures)
	}
	return nil
}

// failures returns how many failures count against an account at now.
func (r *Rules) failures(a Account, now time.Time) uint64 {
	if _, elapsed := a.elapsed(r.every(a.Name), now); elapsed {
		return r.carried(a)
	}
	return a.failures
}

// carried returns how many failures an account takes into its next period: none, unless the limit is reached. Only
// `budget clear` lifts that refusal.
func (r *Rules) carried(a Account) uint64 {
	if a.failures < uint64(r.Failures) {
		return 0
	}
	return a.failures
}

// Fail counts a failure of main and refuses its fingerprint from now on. Beyond the limit it records nothing: the
// statement then ends as every other does, and no later period may show that it failed.
func (b *Book) Fail(fingerprint string) error {
	if err := b.CheckFailures(); err != nil {
		return err
	}
	if err := b.open(&b.Account); err != nil {
		return ledger.InvalidCharge{Reason: err}
	}
	r := &Record{Kind: KindFail, Fingerprint: fingerprint, Failures: b.Account.failures + 1}
	if _, err := b.write(&b.Account, r); err != nil {
		return ledger.InvalidCharge{Reason: err}
	}
	return nil
}
