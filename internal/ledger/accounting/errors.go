package accounting

import (
	"fmt"
	"math"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// RecordError says in which record of an account an error is.
func RecordError(name string, record uint64, err error) error {
	return fmt.Errorf("%s, record %d: %w", title(name), record, err)
}

// AccountError says in which account an error is.
func AccountError(name string, err error) error { return fmt.Errorf("%s: %w", title(name), err) }

// title names an account in an error.
func title(name string) string {
	if name == GroupName {
		return "account of all analysts together"
	}
	return fmt.Sprintf("account %q", name)
}

// errNoBudget refuses an analyst whom the policy does not list.
func errNoBudget(analyst string) *pgconn.PgError {
	return pgerr.New(pgerr.BudgetExceeded, fmt.Sprintf("the policy has no budget for %q", analyst))
}

// errOverBudget refuses charges that would take an account beyond its budget.
func errOverBudget(name string, before, after sums, l limit, a Account) *pgconn.PgError {
	whose := "your budget"
	if name == GroupName {
		whose = "the budget of all analysts together"
	}
	used := l.used(before)
	left := max(1-used, 0)
	message := fmt.Sprintf("this would take %s of %s, of which %s is left", taken(l.used(after)-used), whose,
		ledger.PercentLeft(left))
	if l.spent(after).cmp(l.total) <= 0 {
		message = fmt.Sprintf("this would take the delta of partition selections beyond %s, which is their part of %s",
			strconv.FormatFloat(l.selection.float(deltaDigits), 'g', 6, 64), whose)
	}
	hint := "An earlier statement is answered again for free."
	if l.every > 0 {
		hint += " A new period begins " + a.start.Add(l.every).UTC().Format("2006-01-02 15:04 MST") + "."
	}
	return pgerr.New(pgerr.BudgetExceeded, message, pgerr.Hint("%s", hint))
}

// taken prints a share of a budget that may be more than the whole, or unbounded.
func taken(share float64) string {
	if share > 1 || math.IsNaN(share) {
		return "more than the whole"
	}
	return ledger.Percent(share)
}

// errRefused refuses a statement whose measure query failed before (docs/threat-model.md).
func errRefused() *pgconn.PgError {
	return pgerr.New(pgerr.ObjectNotInState,
		"this statement failed on the database before and is refused until an administrator clears it",
		pgerr.Hint("Ask the administrator to run dpproxy budget clear."))
}

// errFailuresUsedUp refuses an analyst whose statements have failed on main as often as the policy allows.
func errFailuresUsedUp(analyst string, used uint64, allowed int) *pgconn.PgError {
	return pgerr.New(pgerr.ObjectNotInState,
		fmt.Sprintf(
			"%d of your statements failed on the database; the policy allows %d per period, and no other is run until an administrator clears them", used, allowed),
		pgerr.Hint("Ask the administrator to run dpproxy budget clear %s. Answers that you were given before stay free.",
			analyst))
}
