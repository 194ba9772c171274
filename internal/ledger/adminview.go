package ledger

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"time"
)

// describe is an account as the administrator sees it.
func (r *rules) describe(a account, refused int, now time.Time) Account {
	out := Account{Analyst: a.name, Records: a.n, Refused: refused}
	if a.name == groupName {
		out.Analyst = AllAnalysts
	} else {
		out.FailuresUsed, out.FailuresAllowed = r.failures(a, now), r.Failures
	}
	own, listed := r.limits[a.name]
	out.Listed = listed
	if a.n > 0 {
		start, _ := a.elapsed(own.every, now)
		out.PeriodBegan = &start
	}
	if !listed {
		if spent := a.sums.pure; spent != unbounded {
			out.EpsilonSpent = pointer(spent.Float())
		}
		return out
	}
	b := r.balance(a, now)
	out.EpsilonTotal, out.EpsilonLeft, out.Delta = b.EpsilonTotal, b.EpsilonLeft, b.Delta
	if !math.IsInf(b.EpsilonSpent, 1) {
		out.EpsilonSpent = &b.EpsilonSpent
	}
	if _, over := a.elapsed(own.every, now); over {
		a.sums = sums{}
	}
	out.SelectionLeft = own.selection.sub(a.sums.selection).float(deltaDigits)
	if !b.PeriodEnds.IsZero() {
		out.PeriodEnds = &b.PeriodEnds
	}
	return out
}

func pointer[T any](v T) *T { return &v }

// addressed turns the name that an administrator gave into an account's. has asks the store.
func (r *rules) addressed(analyst string, has func(string) (bool, error)) (string, error) {
	if analyst == AllAnalysts {
		analyst = groupName
	}
	if _, ok := r.limits[analyst]; ok {
		return analyst, nil
	}
	known, err := has(analyst)
	if err != nil {
		return "", err
	}
	if analyst == groupName && !known {
		return "", fmt.Errorf("the policy has no budget for all analysts together")
	}
	if !known {
		return "", fmt.Errorf("analyst %q is neither in the policy nor in the ledger", analyst)
	}
	return analyst, nil
}

// exported is a record as a line of JSON. Numbers that JSON does not know (an unbounded curve) are null.
type exported struct {
	Analyst        string     `json:"analyst"`
	Record         uint64     `json:"record"`
	At             time.Time  `json:"at"`
	Kind           string     `json:"kind"`
	Period         uint64     `json:"period"`
	Cause          string     `json:"cause,omitempty"`
	PeriodBegan    *time.Time `json:"period_began,omitempty"`
	GroupPeriod    *uint64    `json:"group_period,omitempty"`
	Failures       uint64     `json:"failures,omitempty"`
	Fingerprint    string     `json:"fingerprint,omitempty"`
	Query          string     `json:"query,omitempty"`
	Policy         string     `json:"policy_version,omitempty"`
	Method         string     `json:"method,omitempty"`
	Epsilon        float64    `json:"epsilon,omitempty"`
	SelectionDelta float64    `json:"selection_delta,omitempty"`
	PureEpsilon    *float64   `json:"pure_epsilon,omitempty"`
	Renyi          []*float64 `json:"renyi,omitempty"`
	Chain          string     `json:"chain"`
}

var kindNames = map[recordKind]string{kindPeriod: "period", kindCharge: "charge", kindFail: "fail", kindClear: "clear"}

var causeNames = map[cause]string{causeFirst: "first", causeElapsed: "elapsed", causeReset: "reset"}

// exportLine writes one stored record as JSON.
func exportLine(w io.Writer, payload []byte, stored chain) error {
	r, err := decodeRecord(payload)
	if err != nil {
		return err
	}
	line := exported{
		Analyst: r.analyst, Record: r.n, At: r.at, Kind: kindNames[r.kind], Period: r.period,
		Cause: causeNames[r.cause], Failures: r.failures, Fingerprint: r.fingerprint, Query: r.query, Policy: r.version,
		Method: string(r.method), Epsilon: r.epsilon, SelectionDelta: r.selection, Chain: hex.EncodeToString(stored[:]),
	}
	if r.analyst == groupName {
		line.Analyst = AllAnalysts
	}
	switch r.kind {
	case kindPeriod:
		line.PeriodBegan = &r.start
	case kindCharge:
		line.GroupPeriod = &r.group
		line.PureEpsilon = finite(r.curve.Pure)
		for _, d := range r.curve.Renyi {
			line.Renyi = append(line.Renyi, finite(d))
		}
	}
	return json.NewEncoder(w).Encode(line)
}

// finite returns nil for what JSON cannot write.
func finite(x float64) *float64 {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return nil
	}
	return &x
}
