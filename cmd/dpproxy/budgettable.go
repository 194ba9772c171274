package main

import (
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/dpproxy/dpproxy/internal/ledger"
)

// writeAccounts prints one line per analyst: which share of the budget is spent and left, and the ε and δ that a period
// guarantees.
func writeAccounts(w io.Writer, accounts []ledger.AccountSummary) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "ANALYST\tSPENT\tLEFT\tEPSILON\tDELTA\tPERIOD ENDS\tREFUSED\tFAILURES")
	for _, a := range accounts {
		spent, left := "-", "-"
		if a.Listed {
			spent, left = ledger.Percent(a.ShareSpent), ledger.PercentLeft(a.ShareLeft)
		}
		ends := "-"
		if a.PeriodEnds != nil {
			ends = a.PeriodEnds.UTC().Format(time.RFC3339)
		}
		failures := "-" // all together: each analyst has a limit of their own
		if a.FailuresAllowed > 0 {
			failures = fmt.Sprintf("%d/%d", a.FailuresUsed, a.FailuresAllowed)
		}
		remark := ""
		if !a.Listed {
			remark = " (not in the policy)"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s%s\n", a.Analyst, spent, left, number(a.EpsilonTotal),
			number(a.Delta), ends, a.Refused, failures, remark)
	}
	return t.Flush()
}

// number prints six significant digits, enough for a person; --json has all.
func number(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }
