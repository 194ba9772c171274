package ledger

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dpproxy/dpproxy/internal/policy"
)

// Config is what a ledger needs of the policy, and what a reload may change.
type Config struct {
	Method              policy.Method
	SelectionDeltaShare float64 // δ_sel's part of every budget's δ
	Analysts            map[string]policy.Budget
	Groups              map[string]policy.Budget    // of analysts who are not in Analysts
	GroupOf             func(analyst string) string // the group of one of those; empty: none. nil: there are no groups
	Group               *policy.Budget              // all analysts together; nil: not bounded
	Failures            int                         // of main that one analyst may cause per period

	// Clock returns the time of day. If it is nil, a file uses the system's clock and PostgreSQL the database's. It may
	// jump: the ledger never goes back before its own latest record.
	Clock func() time.Time
	// Log gets the reasons of errors that clients see without one. nil means that nobody reads them.
	Log *slog.Logger
	// Checkpoint is after how many records of an account a checkpoint follows; 0: 128.
	Checkpoint uint64
	// Step, if not nil, is called between the steps of a charge. The crash test ends the process there.
	Step func(name string)
}

// ConfigOf returns the ledger's part of a policy.
func ConfigOf(p *policy.Policy) Config {
	c := Config{
		Method:              p.Accounting.Method,
		SelectionDeltaShare: p.Accounting.SelectionDeltaShare,
		Analysts:            make(map[string]policy.Budget, len(p.Analysts)),
		Group:               p.Budget,
		Failures:            p.Failures,
	}
	for name, a := range p.Analysts {
		c.Analysts[name] = a.Budget
	}
	if p.Auth.DefaultGroup != "" {
		c.Groups, c.GroupOf = p.Groups, p.GroupOf
	}
	if b := p.ProfileBudget(); b != nil {
		c.Analysts[policy.ProfileAccount] = *b
	}
	if p.Synthetic != nil {
		c.Analysts[policy.SyntheticAccount] = *p.Synthetic
	}
	return c
}

// SelectionDelta returns an analyst's δ_sel: the δ of all their partition selections, and 0 under pure accounting.
func (c Config) SelectionDelta(analyst string) float64 {
	if c.Method == policy.Pure {
		return 0
	}
	return c.Analysts[analyst].Delta * c.SelectionDeltaShare
}

// Validate returns one error that names every problem.
func (c Config) Validate() error {
	var problems []string
	complain := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	if c.Method != policy.RDP && c.Method != policy.Pure {
		complain("accounting method %q is neither %q nor %q", c.Method, policy.RDP, policy.Pure)
	}
	if !(c.SelectionDeltaShare >= 0 && c.SelectionDeltaShare <= 1) {
		complain("selection_delta_share %v is not in [0, 1]", c.SelectionDeltaShare)
	}
	if c.Failures < 1 {
		complain("the limit of failures %d is not at least 1", c.Failures)
	}
	check := func(who string, b policy.Budget) {
		if !(b.Epsilon >= 0) || b.Epsilon > 1e18 {
			complain("the budget's epsilon %v of %s is not in [0, 1e18]", b.Epsilon, who)
		}
		if c.Method == policy.RDP && !(b.Delta > 0 && b.Delta < 1) {
			complain("the budget's delta %v of %s is not in (0, 1), which rdp accounting needs", b.Delta, who)
		}
		if b.Every < 0 {
			complain("the budget's period %v of %s is negative", b.Every, who)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Analysts)) {
		if name == "" { // the name of the account of all analysts together
			complain("an analyst has an empty name")
		}
		check("analyst "+name, c.Analysts[name])
	}
	for _, name := range slices.Sorted(maps.Keys(c.Groups)) {
		check("group "+name, c.Groups[name])
	}
	if c.Group != nil {
		check("all analysts together", *c.Group)
	}
	if problems != nil {
		return fmt.Errorf("ledger: %s", strings.Join(problems, "; "))
	}
	return nil
}

// Inherit fills in what a reload does not set: clock, log, checkpoints and steps.
func (c Config) Inherit(old Config) Config {
	if c.Clock == nil {
		c.Clock = old.Clock
	}
	if c.Log == nil {
		c.Log = old.Log
	}
	if c.Step == nil {
		c.Step = old.Step
	}
	if c.Checkpoint == 0 {
		c.Checkpoint = old.Checkpoint
	}
	return c
}

// Time returns what Clock says, and otherwise if there is no Clock.
func (c Config) Time(otherwise time.Time) time.Time {
	if c.Clock != nil {
		return c.Clock()
	}
	return otherwise
}

// Reached reports a step of a charge to Step.
func (c Config) Reached(step string) {
	if c.Step != nil {
		c.Step(step)
	}
}
