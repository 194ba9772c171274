package ledger

import (
	"context"
	"io"
	"time"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// Charge is what one statement costs: all its releases together.
type Charge struct {
	Query          string          // the analyst's text, for dpproxy.history
	Fingerprint    string          // of the plan
	Policy         string          // policy version
	Epsilon        float64         // nominal: what pure accounting charges, and what dpproxy.history shows
	Curve          mechanism.Curve // composed over all releases; includes the ε of partition selections
	SelectionDelta float64         // δ of all partition selections; 0 if there are none
	Question       string          // key of the answer that is paid for; empty: it is not kept
	Shared         bool            // the answer is one that all analysts together were charged for before

	Method policy.Method // of accounting, that the plan was made for; empty: any
	Begun  Begun         // Balance.Begun of what the statement was charged before; nil: nothing was
}

// Begun is what a statement was charged so far, and what the ledger went by. A reload replaces the ledger's rules; a
// statement that is charged more than once goes by those of its first charge.
type Begun any

// Balance is an analyst's budget in the current period. EpsilonSpent is the number that the filter compares with the
// budget (docs/budget.md, «The filter»); shares are parts of the budget, and add up (proposition 2).
type Balance struct {
	EpsilonTotal, EpsilonSpent, EpsilonLeft float64
	Delta                                   float64
	ShareSpent, ShareLeft                   float64   // from 0 to 1
	PeriodEnds                              time.Time // zero: the budget has no period

	// Of Spend and Preview alone.
	Shares []float64 // that each charge takes, in their order
	Enough int       // how many more statements fit that cost what this one has cost so far, all its charges together
	Begun  Begun     `json:"-"`
}

// HistoryEntry is one line of an analyst's history.
type HistoryEntry struct {
	At      time.Time
	Query   string
	Epsilon float64 // nominal
	Share   float64 // of the budget as it is now
}

// Ledger admits and records charges, durably, and keeps answers. Implementations are safe for concurrent use.
// Errors are *pgconn.PgError: 53400 over budget, 55000 fingerprint refused or failures used up, 58030 store
// unavailable.
type Ledger interface {
	// Spend admits all charges or none, and returns once they are on disk. It claims their questions for Lease. ErrAsked
	// means that one of them has an answer, or that another proxy has claimed it; ErrReplanned, that a reload has changed
	// the method of accounting.
	Spend(ctx context.Context, analyst string, charges []Charge) (Balance, error)
	Balance(ctx context.Context, analyst string) (Balance, error)
	// History lists an analyst's charges of all periods, latest first. A limit ≤ 0 means no limit.
	History(ctx context.Context, analyst string, limit int) ([]HistoryEntry, error)

	// Answer returns a stored answer (released integers, opaque to the ledger) that has not expired. The caller puts the
	// analyst into the key, so that nobody gets another analyst's answer, but for those that all analysts together have
	// paid for (docs/budget.md, «Answers for free»).
	Answer(ctx context.Context, key string) ([]byte, bool, error)
	// PutAnswer keeps an answer, unless one is kept already that has not expired, and returns the one that is kept.
	PutAnswer(ctx context.Context, key string, answer []byte, ttl time.Duration) ([]byte, error)
	// GiveUp ends a claim of Spend: there will be no answer. It does not wait.
	GiveUp(key string)

	// Fail counts a failure of main and refuses its fingerprint to the analyst from now on. The caller may report the
	// failure to the analyst only if Fail returns nil. Beyond the policy's limit it records nothing and returns 55000.
	Fail(ctx context.Context, analyst, fingerprint string) error
	// Releasable returns 55000 once the analyst's failures are used up: a measured answer must then not be given.
	Releasable(ctx context.Context, analyst string) error
	// Failed says whether the fingerprint is refused to the analyst.
	Failed(ctx context.Context, analyst, fingerprint string) (bool, error)

	Close() error
}

// Store is a Ledger together with what its owner may do to it. stores.Open returns one.
type Store interface {
	Ledger
	Admin
	Previewer

	// Reconfigure takes over the budgets of a reloaded policy. A Clock or Log that is nil stays as it was.
	Reconfigure(ctx context.Context, c Config) error
}

// Previewer evaluates a charge without making it.
type Previewer interface {
	// Preview returns the balance or the error that Spend would return now. It writes nothing.
	Preview(ctx context.Context, analyst string, charges []Charge) (Balance, error)
}

// Admin is the administrator's side of a ledger: `dpproxy budget`. Only administrators see its errors, which therefore
// carry their reasons.
type Admin interface {
	// Show lists all accounts: analysts by name, then all together, if the policy bounds that.
	Show(ctx context.Context) ([]AccountSummary, error)
	// Reset opens a new period for an analyst, or for AllAnalysts together, by an appended record.
	Reset(ctx context.Context, analyst string) (AccountSummary, error)
	// Clear forgets an analyst's failures, so that statements that failed on the database may be asked again. It returns
	// the number of those statements.
	Clear(ctx context.Context, analyst string) (int, error)
	// Verify derives every total from the records, from the first on, and compares with what is stored and with every
	// checkpoint. An error says where the first difference is.
	Verify(ctx context.Context) (Report, error)
	// Export writes every record as one line of JSON, account by account.
	Export(ctx context.Context, w io.Writer) error
	Close() error
}

// AllAnalysts is the name under which an administrator addresses the budget of all analysts together.
const AllAnalysts = "*"

// AccountSummary is one line of `budget show`.
type AccountSummary struct {
	Analyst       string     `json:"analyst"` // AllAnalysts for all together
	EpsilonTotal  float64    `json:"epsilon_total"`
	EpsilonSpent  *float64   `json:"epsilon_spent"` // null: unbounded
	EpsilonLeft   float64    `json:"epsilon_left"`
	ShareSpent    float64    `json:"share_spent"` // from 0 to 1, as share_left
	ShareLeft     float64    `json:"share_left"`
	Delta         float64    `json:"delta"`
	SelectionLeft float64    `json:"selection_delta_left"`
	PeriodBegan   *time.Time `json:"period_began,omitempty"` // nil: nothing was charged yet
	PeriodEnds    *time.Time `json:"period_ends,omitempty"`  // nil: the budget has no period
	Records       uint64     `json:"records"`
	Refused       int        `json:"refused_statements"` // until `budget clear`
	FailuresUsed  uint64     `json:"failures_used"`      // of main in this period
	// at this many nothing is measured until `budget clear`; 0 for all together
	FailuresAllowed int `json:"failures_allowed,omitempty"`
	// false: the analyst was charged once and has no budget now
	Listed bool `json:"in_policy"`
}

// Report counts what Verify has read.
type Report struct {
	Accounts    int    `json:"accounts"`
	Records     uint64 `json:"records"`
	Checkpoints uint64 `json:"checkpoints"` // of the records
}
