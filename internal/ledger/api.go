package ledger

import (
	"context"
	"io"
	"time"

	"github.com/dpproxy/dpproxy/internal/mechanism"
)

// Charge is what one statement costs: all its releases together.
type Charge struct {
	Query          string // the analyst's text, for dpproxy.history
	Fingerprint    string // of the plan
	Policy         string // policy version
	Epsilon        float64
	Curve          mechanism.Curve // composed over all releases; selection's ε part included
	SelectionDelta float64         // δ of partition selections, 0 without
}

// Balance is an analyst's budget in the current period. Spent is the filter's own figure (PRIVACY 22).
type Balance struct {
	EpsilonTotal, EpsilonSpent, EpsilonLeft float64
	Delta                                   float64
	PeriodEnds                              time.Time // zero: no period
}

// Entry is one line of an analyst's history.
type Entry struct {
	At      time.Time
	Query   string
	Epsilon float64
}

// Ledger admits and records charges, durably, and keeps answers. Implementations are safe for concurrent use.
// Errors are *pgconn.PgError: 53400 over budget, 55000 fingerprint refused or failures used up, 58030 store unavailable.
type Ledger interface {
	// Spend admits all charges or none, and returns once they are on disk.
	Spend(ctx context.Context, analyst string, charges []Charge) (Balance, error)
	Balance(ctx context.Context, analyst string) (Balance, error)
	// History lists an analyst's charges of all periods, latest first; limit ≤ 0: all.
	History(ctx context.Context, analyst string, limit int) ([]Entry, error)

	// Answer returns a stored answer (released integers, opaque here) that has not expired. The key holds the analyst (PRIVACY 25).
	Answer(ctx context.Context, key string) ([]byte, bool, error)
	PutAnswer(ctx context.Context, key string, answer []byte, ttl time.Duration) error

	// Fail counts a failure of main and refuses its fingerprint to the analyst from now on. Only when it returns nil may
	// the analyst be told of the failure. Beyond the policy's limit it records nothing and returns 55000.
	Fail(ctx context.Context, analyst, fingerprint string) error
	// Releasable says whether an answer that was measured may be given: 55000 once the analyst's failures are used up.
	Releasable(ctx context.Context, analyst string) error
	// Failed tells whether a fingerprint is refused.
	Failed(ctx context.Context, analyst, fingerprint string) (bool, error)

	Close() error
}

// Store is a ledger with what its owner may do to it. Open returns one.
type Store interface {
	Ledger
	Admin
	Previewer

	// Reconfigure takes over the budgets of a reloaded policy. A Clock or Log that is nil stays as it was.
	Reconfigure(ctx context.Context, c Config) error
}

// Previewer tells what a statement would leave. Every Store does.
type Previewer interface {
	// Preview is Spend without charging: the balance that it would return now, or its error. Nothing is written.
	Preview(ctx context.Context, analyst string, charges []Charge) (Balance, error)
}

// Admin is the administrator's side of a ledger: `dpproxy budget`. Its errors are for him and carry their reasons.
type Admin interface {
	// Show lists all accounts: analysts by name, then all together, if the policy bounds that.
	Show(ctx context.Context) ([]Account, error)
	// Reset opens a new period for an analyst, or for AllAnalysts together, by an appended record.
	Reset(ctx context.Context, analyst string) (Account, error)
	// Clear forgets an analyst's failures: they may ask again what failed on the database before. It tells how many
	// statements that are.
	Clear(ctx context.Context, analyst string) (int, error)
	// Verify derives every total from the records and compares. An error says where the first difference is.
	Verify(ctx context.Context) (Report, error)
	// Export writes every record as one line of JSON, account by account.
	Export(ctx context.Context, w io.Writer) error
	Close() error
}

// AllAnalysts is the name under which an administrator addresses the budget of all analysts together.
const AllAnalysts = "*"

// Account is one line of `budget show`.
type Account struct {
	Analyst         string     `json:"analyst"` // AllAnalysts: all together
	EpsilonTotal    float64    `json:"epsilon_total"`
	EpsilonSpent    *float64   `json:"epsilon_spent"` // null: unbounded
	EpsilonLeft     float64    `json:"epsilon_left"`
	Delta           float64    `json:"delta"`
	SelectionLeft   float64    `json:"selection_delta_left"`
	PeriodBegan     *time.Time `json:"period_began,omitempty"` // nil: nothing was charged yet
	PeriodEnds      *time.Time `json:"period_ends,omitempty"`  // nil: no period
	Records         uint64     `json:"records"`
	Refused         int        `json:"refused_statements"`         // until `budget clear`
	FailuresUsed    uint64     `json:"failures_used"`              // of main in this period
	FailuresAllowed int        `json:"failures_allowed,omitempty"` // then nothing is measured until `budget clear`; 0: all together
	Listed          bool       `json:"in_policy"`                  // false: was charged once, but has no budget now
}

// Report is what Verify has looked at.
type Report struct {
	Accounts int    `json:"accounts"`
	Records  uint64 `json:"records"`
}
