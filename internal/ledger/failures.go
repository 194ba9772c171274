package ledger

import "time"

// Failures of main are outside ε: that a statement failed, or did not, may depend on private rows. What they tell is
// bounded by their number instead. An account counts them, and at the limit of the policy no statement of the analyst
// is charged and no answer that was measured is given, whatever became of the statement, until `budget clear`.
//
// The bound holds for any number of sessions and proxies. The store puts the outcomes of an analyst's statements in one
// order: a failure that the analyst may see is counted, on disk, before they see it (fail), and an answer is given only
// if the limit is not reached (releasable). So statements in flight when the last failure is counted all end alike.

// checkFailures refuses the account once its failures are used up.
func (b *book) checkFailures() error {
	if used := b.rules.failures(b.account, b.now); used >= uint64(b.rules.Failures) {
		return errFailuresUsedUp(b.account.name, used, b.rules.Failures)
	}
	return nil
}

// failures is how many failures count against an account at now.
func (r *rules) failures(a account, now time.Time) uint64 {
	if _, elapsed := a.elapsed(r.limits[a.name].every, now); elapsed {
		return r.carried(a)
	}
	return a.failures
}

// carried is how many failures go along into an account's next period: none, unless the limit is reached. Only
// `budget clear` lifts that refusal.
func (r *rules) carried(a account) uint64 {
	if a.failures < uint64(r.Failures) {
		return 0
	}
	return a.failures
}

// fail counts a failure of main and refuses its fingerprint from now on. Beyond the limit it records nothing: the caller
// then ends as every other statement does, and what it was must not show in a later period either.
func (b *book) fail(fingerprint string) error {
	if err := b.checkFailures(); err != nil {
		return err
	}
	if err := b.open(&b.account); err != nil {
		return errBadCharge(b.rules.Log, err)
	}
	r := &record{kind: kindFail, fingerprint: fingerprint, failures: b.account.failures + 1}
	if _, err := b.write(&b.account, r); err != nil {
		return errBadCharge(b.rules.Log, err)
	}
	return nil
}
