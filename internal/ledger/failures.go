package ledger

import "time"

// Failures of main are outside ε: whether a statement fails may depend on private rows. Their number bounds what an
// analyst can learn from them (docs/threat-model.md, «What failures of main tell»). An account counts them. At the limit
// of the policy no statement of the analyst is charged and no measured answer is given until `budget clear`.
//
// The bound holds for any number of sessions and proxies. The store puts the outcomes of an analyst's statements in one
// order: it counts a failure, on disk, before the analyst may see it (fail), and an answer is given only if the limit is
// not reached (checkFailures). So all statements in flight when the last failure is counted end in the same way.

// checkFailures refuses the account once its failures are used up.
func (b *book) checkFailures() error {
	if used := b.rules.failures(b.account, b.now); used >= uint64(b.rules.Failures) {
		return errFailuresUsedUp(b.account.name, used, b.rules.Failures)
	}
	return nil
}

// failures returns how many failures count against an account at now.
func (r *rules) failures(a account, now time.Time) uint64 {
	if _, elapsed := a.elapsed(r.limits[a.name].every, now); elapsed {
		return r.carried(a)
	}
	return a.failures
}

// carried returns how many failures an account takes into its next period: none, unless the limit is reached. Only
// `budget clear` lifts that refusal.
func (r *rules) carried(a account) uint64 {
	if a.failures < uint64(r.Failures) {
		return 0
	}
	return a.failures
}

// fail counts a failure of main and refuses its fingerprint from now on. Beyond the limit it records nothing: the
// statement then ends as every other does, and no later period may show that it failed.
func (b *book) fail(fingerprint string) error {
	if err := b.checkFailures(); err != nil {
		return err
	}
	if err := b.open(&b.account); err != nil {
		return InvalidCharge{err}
	}
	r := &record{kind: kindFail, fingerprint: fingerprint, failures: b.account.failures + 1}
	if _, err := b.write(&b.account, r); err != nil {
		return InvalidCharge{err}
	}
	return nil
}
