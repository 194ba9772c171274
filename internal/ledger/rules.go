package ledger

import (
	"log/slog"
	"time"

	"github.com/dpproxy/dpproxy/internal/policy"
)

// groupName is the name of the account of all analysts together.
const groupName = ""

// rules is a Config with one filter for each budget. It is immutable.
type rules struct {
	Config
	limits map[string]limit // by account name; the group's only if the policy has one
}

// limit is one budget.
type limit struct {
	*filter
	every time.Duration // 0: the budget has no period
}

// newRules checks a Config and prepares its filters.
func newRules(c Config) (*rules, error) {
	if err := c.Validate(); err != nil {
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

// reload returns the rules of a reloaded policy. What c leaves out stays as it is in r.
func (r *rules) reload(c Config) (*rules, error) { return newRules(c.Inherit(r.Config)) }

// boundsGroup says whether the policy has a budget for all analysts together.
func (r *rules) boundsGroup() bool { return r.Group != nil }
