package accounting

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// Show describes the accounts of a ledger, and those of the policy's analysts that have no record yet.
func (r *Rules) Show(accounts map[string]Account, now time.Time) []ledger.AccountSummary {
	for name := range r.limits {
		if _, ok := accounts[name]; !ok {
			accounts[name] = NewAccount(name)
		}
	}
	group, bounded := accounts[GroupName]
	delete(accounts, GroupName)
	now = NotBefore(now, &group)
	out := make([]ledger.AccountSummary, 0, len(accounts)+1)
	for _, name := range slices.Sorted(maps.Keys(accounts)) {
		a := accounts[name]
		if slices.Contains(policy.OwnAccounts, name) && a.Records == 0 {
			continue // the command was not used
		}
		out = append(out, r.describe(a, NotBefore(now, &a)))
	}
	if _, listed := r.limits[GroupName]; bounded && listed {
		out = append(out, r.describe(group, now))
	}
	return out
}

// describe returns an account as the administrator sees it.
func (r *Rules) describe(a Account, now time.Time) ledger.AccountSummary {
	out := ledger.AccountSummary{Analyst: a.Name, Records: a.Records, Refused: a.Refused()}
	if a.Name == GroupName {
		out.Analyst = ledger.AllAnalysts
	} else {
		out.FailuresUsed, out.FailuresAllowed = r.failures(a, now), r.Failures
	}
	own, listed := r.limit(a.Name)
	out.Listed = listed
	if a.Records > 0 {
		start, _ := a.elapsed(own.every, now)
		out.PeriodBegan = &start
	}
	if !listed {
		out.EpsilonSpent = finite(a.sums.pure.Float())
		return out
	}
	b := r.balance(a, now)
	out.EpsilonTotal, out.EpsilonLeft, out.Delta = b.EpsilonTotal, b.EpsilonLeft, b.Delta
	out.EpsilonSpent, out.ShareSpent, out.ShareLeft = finite(b.EpsilonSpent), b.ShareSpent, b.ShareLeft
	if _, over := a.elapsed(own.every, now); over {
		a.sums = sums{}
	}
	out.SelectionLeft = own.selection.sub(a.sums.selection).float(deltaDigits)
	if !b.PeriodEnds.IsZero() {
		out.PeriodEnds = &b.PeriodEnds
	}
	return out
}

// Addressed returns the name of the account that an administrator means. has asks the store whether it has an account.
func (r *Rules) Addressed(analyst string, has func(string) (bool, error)) (string, error) {
	if analyst == ledger.AllAnalysts {
		analyst = GroupName
	}
	if _, ok := r.limits[analyst]; ok {
		return analyst, nil
	}
	known, err := has(analyst)
	if err != nil {
		return "", err
	}
	if analyst == GroupName && !known {
		return "", errors.New("the policy has no budget for all analysts together")
	}
	if !known {
		return "", fmt.Errorf("analyst %q is neither in the policy nor in the ledger", analyst)
	}
	return analyst, nil
}
