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
	Group               *policy.Budget // all analysts together; nil: none
	Failures            int            // of main that one analyst may cause per period

	// Clock is the time of day; nil: the system's for a file, the database's for PostgreSQL. It may jump: the ledger
	// never goes back before its own latest record.
	Clock func() time.Time
	Log   *slog.Logger // failures of the store, which clients see as 58030 without a reason; nil: slog.Default()

	step func(name string) // called by a store between the steps of a charge; nil: not
}

// ConfigOf takes the ledger's part out of a policy.
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
	return c
}

// selectionUses is how many partition selections an analyst's δ_sel is cut into.
const selectionUses = 1000

// SelectionDelta is the δ of one partition selection by an analyst: a thousandth of his δ_sel; 0 under pure accounting.
func (c Config) SelectionDelta(analyst string) float64 {
	if c.Method == policy.Pure {
		return 0
	}
	return c.Analysts[analyst].Delta * c.SelectionDeltaShare / selectionUses
}

// validate names every problem at once.
func (c Config) validate() error {
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
		if name == groupName {
			complain("an analyst has an empty name")
		}
		check("analyst "+name, c.Analysts[name])
	}
	if c.Group != nil {
		check("all analysts together", *c.Group)
	}
	if problems != nil {
		return fmt.Errorf("ledger: %s", strings.Join(problems, "; "))
	}
	return nil
}

// groupName is the name of the account of all analysts together.
const groupName = ""

// rules is a Config made ready: one filter for each budget. Immutable.
type rules struct {
	Config
	limits map[string]limit // by account name; the group's only if the policy has one
}

// limit is one budget.
type limit struct {
	*filter
	every time.Duration // 0: no periods
}

func newRules(c Config) (*rules, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	r := &rules{Config: c, limits: make(map[string]limit, len(c.Analysts)+1)}
	add := func(name string, b policy.Budget) {
		r.limits[name] = limit{newFilter(b, c.Method, c.SelectionDeltaShare), b.Every}
	}
	for name, b := range c.Analysts {
		add(name, b)
	}
	if c.Group != nil {
		add(groupName, *c.Group)
	}
	return r, nil
}

// inherit keeps what a reload does not set: the clock and the log.
func (c Config) inherit(old Config) Config {
	if c.Clock == nil {
		c.Clock = old.Clock
	}
	if c.Log == nil {
		c.Log = old.Log
	}
	if c.step == nil {
		c.step = old.step
	}
	return c
}
