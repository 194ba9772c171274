package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// errUnavailable is all that a client learns when the store fails; the log has the reason.
func errUnavailable(log *slog.Logger, doing string, reason error) *pgconn.PgError {
	log.Error("ledger unavailable", "doing", doing, "error", reason)
	return pgerr.New(pgerr.IOError, "the budget ledger is unavailable",
		pgerr.Hint("No answer was given. Ask the administrator of dpproxy to look at its log."))
}

// errBadCharge refuses a charge that no correct plan gives.
func errBadCharge(log *slog.Logger, reason error) *pgconn.PgError {
	log.Error("charge refused", "error", reason)
	return pgerr.New(pgerr.InternalError, "the statement's cost is not a number that can be charged")
}

// errNoBudget refuses whoever the policy does not list.
func errNoBudget(analyst string) *pgconn.PgError {
	return pgerr.New(pgerr.BudgetExceeded, fmt.Sprintf("the policy has no budget for %q", analyst))
}

// errOverBudget refuses charges that would take an account beyond its budget. Every figure is the filter's own.
func errOverBudget(name string, before, after sums, l limit, a account) *pgconn.PgError {
	whose := "your budget"
	if name == groupName {
		whose = "the budget of all analysts together"
	}
	message := fmt.Sprintf("this would take the epsilon spent from %s to %s; %s is %s",
		short(l.spent(before)), short(l.spent(after)), whose, short(l.total))
	if l.spent(after).cmp(l.total) <= 0 {
		message = fmt.Sprintf("this would take the delta of partition selections beyond %s, which is their part of %s",
			strconv.FormatFloat(l.selection.float(deltaDigits), 'g', 6, 64), whose)
	}
	hint := "Ask with a smaller dpproxy.epsilon, or repeat an earlier statement: the same answer again is free."
	if l.every > 0 {
		hint += " A new period begins " + a.start.Add(l.every).UTC().Format("2006-01-02 15:04 MST") + "."
	}
	return pgerr.New(pgerr.BudgetExceeded, message, pgerr.Hint("%s", hint))
}

// short is an amount to six digits: enough to act on.
func short(a Amount) string {
	if a == unbounded {
		return a.String()
	}
	return strconv.FormatFloat(a.Float(), 'g', 6, 64)
}

// errRefused answers a fingerprint whose measure query failed before (PRIVACY 26).
func errRefused() *pgconn.PgError {
	return pgerr.New(pgerr.ObjectNotInState, "this statement failed on the database before and is refused until an administrator clears it",
		pgerr.Hint("Ask the administrator to run dpproxy budget clear."))
}

// errFailuresUsedUp refuses an analyst whose statements have failed on main as often as the policy allows.
func errFailuresUsedUp(analyst string, used uint64, allowed int) *pgconn.PgError {
	return pgerr.New(pgerr.ObjectNotInState,
		fmt.Sprintf("%d of your statements failed on the database; the policy allows %d per period, and no other is run until an administrator clears them", used, allowed),
		pgerr.Hint("Ask the administrator to run dpproxy budget clear %s. Answers that you were given before stay free.", analyst))
}

// errGivenUp is the answer to a caller who stopped waiting. The charge may have been made.
func errGivenUp(ctx context.Context) *pgconn.PgError {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return pgerr.New(pgerr.QueryCanceled, "canceling statement due to statement timeout")
	}
	return pgerr.New(pgerr.QueryCanceled, "canceling statement due to user request")
}
