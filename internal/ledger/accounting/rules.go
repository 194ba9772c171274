package accounting

import (
	"log/slog"
	"time"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// GroupName is the name of the account of all analysts together.
const GroupName = ""

// Rules is a Config with one filter for each budget. It is immutable.
type Rules struct {
	ledger.Config
	limits map[string]limit // by account name; that of all analysts together only if the policy has one
	groups map[string]limit // of analysts who are not listed
}

// limit is one budget.
type limit struct {
	*filter
	every time.Duration // 0: the budget has no period
}

// NewRules checks a Config and prepares its filters.
func NewRules(c ledger.Config) (*Rules, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	r := &Rules{Config: c, limits: make(map[string]limit, len(c.Analysts)+1)}
	add := func(name string, b policy.Budget) {
		r.limits[name] = limit{newFilter(b, c.Method, c.SelectionDeltaShare), b.Every}
	}
	for name, b := range c.Analysts {
		add(name, b)
	}
	r.groups = make(map[string]limit, len(c.Groups))
	for name, b := range c.Groups {
		r.groups[name] = limit{newFilter(b, c.Method, c.SelectionDeltaShare), b.Every}
	}
	if c.Group != nil {
		add(GroupName, *c.Group)
	}
	return r, nil
}

// limit returns the budget of an account: its own, or that of its group. Members of a group share no budget: each has
// the whole of it.
func (r *Rules) limit(account string) (limit, bool) {
	if own, ok := r.limits[account]; ok || account == GroupName || r.GroupOf == nil {
		return own, ok
	}
	own, ok := r.groups[r.GroupOf(account)]
	return own, ok
}

// every is the period of an account's budget; 0: it has none.
func (r *Rules) every(account string) time.Duration {
	own, _ := r.limit(account)
	return own.every
}

// Reload returns the rules of a reloaded policy. What c leaves out stays as it is in r.
func (r *Rules) Reload(c ledger.Config) (*Rules, error) { return NewRules(c.Inherit(r.Config)) }

// checkpointEvery is after how many records of an account a checkpoint follows. It has about 700 bytes, or twice that
// where the period of all analysts together is another one; a record has some 300.
func (r *Rules) checkpointEvery() uint64 {
	if r.Checkpoint > 0 {
		return r.Checkpoint
	}
	return 128
}

// BoundsGroup reports whether the policy has a budget for all analysts together.
func (r *Rules) BoundsGroup() bool { return r.Group != nil }
