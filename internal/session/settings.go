package session

import (
	"maps"
	"reflect"
	"strconv"
	"strings"
)

// Settings is a snapshot of a session's settings, by lower-case name. It is never modified.
type Settings struct{ values map[string]string }

// workload is a setting whose value may be long.
const workload = "dpproxy.workload"

// Get returns a setting by its lower-case name; empty when it is not set.
func (s Settings) Get(name string) string { return s.values[name] }

// same reports whether two snapshots are one.
func (s Settings) same(other Settings) bool {
	return reflect.ValueOf(s.values).UnsafePointer() == reflect.ValueOf(other.values).UnsafePointer()
}

// TimeZone changes what a statement means (docs/privacy.md P24).
func (s Settings) TimeZone() string { return s.values["timezone"] }

// DateStyle changes what a statement means.
func (s Settings) DateStyle() string { return s.values["datestyle"] }

// IntervalStyle changes what a statement means.
func (s Settings) IntervalStyle() string { return s.values["intervalstyle"] }

// ExtraFloatDigits changes how results look.
func (s Settings) ExtraFloatDigits() string { return s.values["extra_float_digits"] }

// ByteaOutput changes how results look.
func (s Settings) ByteaOutput() string { return s.values["bytea_output"] }

// Epsilon returns what dpproxy.epsilon was set to; 0 where it was not, and the policy decides.
func (s Settings) Epsilon() float64 {
	v, err := strconv.ParseFloat(s.values["dpproxy.epsilon"], 64)
	if err != nil {
		return 0
	}
	return v
}

// Notices returns dpproxy.notices: whether to report cost and margins. The session drops unwanted notices; an engine
// that asks saves the work of making them.
func (s Settings) Notices() bool { return s.values["dpproxy.notices"] != "off" }

// Margin returns dpproxy.margin: "20", "2%", or empty.
func (s Settings) Margin() string { return s.values["dpproxy.margin"] }

// EmptyGroups returns dpproxy.empty_groups: drop or keep; empty where the policy decides.
func (s Settings) EmptyGroups() string { return s.values["dpproxy.empty_groups"] }

// Rows returns dpproxy.max_rows or dpproxy.max_rows_per_group: a bound below the policy's on the rows that a unit
// counts with, in all or in one group; 0 where the policy decides.
func (s Settings) Rows(setting string) int {
	n, err := strconv.Atoi(s.values[setting])
	if err != nil {
		return 0
	}
	return n
}

// Workload returns dpproxy.workload: statements that are asked together, separated by semicolons; empty: none are.
func (s Settings) Workload() string { return s.values[workload] }

// Intervals returns dpproxy.intervals: whether each aggregate x is followed by x_low and x_high. byPolicy is what holds
// without SET.
func (s Settings) Intervals(byPolicy bool) bool {
	if value := s.values["dpproxy.intervals"]; value != "" {
		return value == "on"
	}
	return byPolicy
}

// Synthetic is the value of dpproxy.rows and dpproxy.source by which rows of the synthetic twin are asked for.
const Synthetic = "synthetic"

// SyntheticRows returns dpproxy.rows: whether the twin answers what would be refused since it returns private rows.
// byPolicy is what holds without SET, and what the policy allows.
func (s Settings) SyntheticRows(byPolicy string) bool {
	return byPolicy == Synthetic && (s.values["dpproxy.rows"] == "" || s.values["dpproxy.rows"] == Synthetic)
}

// Synthetic returns dpproxy.source: whether the twin answers whatever names private tables.
func (s Settings) Synthetic() bool { return s.values["dpproxy.source"] == Synthetic }

// With returns a copy with one value changed, by its lower-case name.
func (s Settings) With(name, value string) Settings {
	m := make(map[string]string, len(s.values)+1)
	maps.Copy(m, s.values)
	m[name] = value
	return Settings{values: m}
}

// layers holds the settings of a session: what RESET returns to, what SET has changed, and what SET LOCAL covers until
// the transaction ends. All maps are immutable, so that a savepoint is a copy of this struct.
type layers struct {
	reset   Settings
	session Settings
	local   map[string]string
	current Settings
}

func newLayers(reset Settings) layers {
	return layers{reset: reset, session: reset, current: reset}
}

// set does SET, or SET LOCAL.
func (l layers) set(name, value string, local bool) layers {
	if local {
		overlay := maps.Clone(l.local)
		if overlay == nil {
			overlay = map[string]string{}
		}
		overlay[name] = value
		l.local = overlay
		l.current = l.current.With(name, value)
		return l
	}
	l.session = l.session.With(name, value)
	if _, covered := l.local[name]; covered {
		overlay := maps.Clone(l.local)
		delete(overlay, name)
		l.local = overlay
	}
	l.current = l.current.With(name, value)
	return l
}

// resetAll does RESET ALL. The modes of the current transaction stay.
func (l layers) resetAll() layers {
	fresh := newLayers(l.reset)
	for name, value := range l.local {
		if strings.HasPrefix(name, "transaction_") {
			fresh = fresh.set(name, value, true)
		}
	}
	return fresh
}

// bytes is about how much memory the maps take that a later SET would replace.
func (l layers) bytes() int {
	const entry = 64
	return entry*(len(l.session.values)+len(l.local)+len(l.current.values)) +
		len(l.session.Workload()) + len(l.current.Workload())
}

// withoutLocal returns what a commit leaves.
func (l layers) withoutLocal() layers {
	l.local, l.current = nil, l.session
	return l
}
