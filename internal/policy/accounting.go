package policy

import (
	"math"
	"strconv"
	"strings"
)

// Defaults of accounting and of statements.
const (
	defaultSelectionShare = 0.5
	defaultEpsilon        = 0.5
	defaultEpsilonMax     = 1.0
	maxGroupsPerUnit      = 1_000_000
)

func readAccounting(o object, p *Policy) {
	v := o.get("accounting")
	a := v.object("method", "delta", "selection_delta_share")
	p.Accounting = Accounting{Method: RDP, SelectionDeltaShare: defaultSelectionShare}
	if s, ok := a.get("method").oneOf(string(RDP), string(Pure)); ok {
		p.Accounting.Method = Method(s)
	}
	if f, ok := a.get("delta").delta(); ok {
		p.Accounting.Delta = f
	}
	if share := a.get("selection_delta_share"); share.given() {
		if f, ok := share.float(); ok && (f < 0 || f >= 1) {
			share.fail("must be at least 0 and below 1, not %s: what is left is for composition", share.node.Value)
		} else if ok {
			p.Accounting.SelectionDeltaShare = f
		}
	}
	if p.Accounting.Method == Pure {
		if a.has("delta") {
			a.get("delta").note("has no effect with method: pure")
		}
		p.Accounting.Delta, p.Accounting.SelectionDeltaShare = 0, 0
	}
}

// delta reads a probability between 0 and 1, both excluded.
func (v value) delta() (float64, bool) {
	f, ok := v.positive()
	if ok && f >= 1 {
		v.fail("must be below 1, not %s; it is the probability with which the guarantee may fail, say 1e-6", v.node.Value)
		return 0, false
	}
	return f, ok
}

// readDefaults fills p.Defaults; the grid is kept apart because it reaches columns through their tables.
func readDefaults(v value, p *Policy) overrides {
	o := v.object("epsilon", "epsilon_max", "mechanism", "max_groups_per_unit", "grid", "empty_groups", "intervals", "margin")
	d := overrides{
		Defaults: Defaults{Epsilon: defaultEpsilon, EpsilonMax: defaultEpsilonMax, EmptyGroups: DropEmptyGroups},
		method:   p.Accounting.Method,
		moves:    true,
	}.read(o)
	d.moves = false
	if word, ok := o.get("empty_groups").oneOf(DropEmptyGroups, KeepEmptyGroups); ok {
		d.EmptyGroups = word
	}
	if word, ok := o.get("intervals").oneOf("off", "on"); ok {
		d.Intervals = word == "on"
	}
	if part, ok := o.get("margin").percent(); ok {
		d.Margin = part
	}
	p.Defaults = d.Defaults
	return d
}

// percent reads a part of something: 10%.
func (v value) percent() (float64, bool) {
	text, ok := v.text()
	if !ok {
		return 0, false
	}
	number, percent := strings.CutSuffix(text, "%")
	f, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if !percent || err != nil || !(f > 0) || math.IsInf(f, 0) {
		v.fail("must be a part of the answer, such as 10%%, not %q", v.node.Value)
		return 0, false
	}
	return f / 100, true
}

// overrides holds the keys that defaults and a table may have; the nearest wins.
type overrides struct {
	Defaults
	grid   *gridLiteral
	method Method
	moves  bool // of epsilon and epsilon_max, the one that is given moves the other, which is only a default, along
}

// read returns d changed by what o has.
func (d overrides) read(o object) overrides {
	problems := len(o.w.problems)
	if f, ok := o.get("epsilon").positive(); ok {
		d.Epsilon = f
		if d.moves && !o.has("epsilon_max") {
			d.EpsilonMax = max(d.EpsilonMax, f)
		}
	}
	if f, ok := o.get("epsilon_max").positive(); ok {
		d.EpsilonMax = f
		if d.moves && !o.has("epsilon") {
			d.Epsilon = min(d.Epsilon, f)
		}
	}
	// An inherited value was checked where it is written.
	if d.Epsilon > d.EpsilonMax && len(o.w.problems) == problems && (o.has("epsilon") || o.has("epsilon_max")) {
		at := o.get("epsilon")
		if !at.given() {
			at = o.get("epsilon_max")
		}
		at.fail("epsilon %v is above epsilon_max %v", d.Epsilon, d.EpsilonMax)
	}
	if c, ok := o.get("mechanism").mechanism(d.method); ok {
		d.Mechanism = c
	}
	d.MaxGroupsPerUnit = o.get("max_groups_per_unit").count(d.MaxGroupsPerUnit, maxGroupsPerUnit)
	if g, ok := o.get("grid").grid(); ok {
		d.grid = g
	}
	return d
}
