package ledger

import (
	"encoding/hex"
	"encoding/json"
	"io"
	"math"
	"time"
)

// exported is a record as a line of JSON. Numbers that JSON cannot write (an unbounded curve) are null.
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

// exportRecord writes one stored record as a line of JSON.
func exportRecord(w io.Writer, payload []byte, stored chain) error {
	r, err := decodeRecord(payload)
	if err != nil {
		return err
	}
	out := exported{
		Analyst: r.analyst, Record: r.n, At: r.at, Kind: kindNames[r.kind], Period: r.period,
		Cause: causeNames[r.cause], Failures: r.failures, Fingerprint: r.fingerprint, Query: r.query, Policy: r.version,
		Method: string(r.method), Epsilon: r.epsilon, SelectionDelta: r.selection, Chain: hex.EncodeToString(stored[:]),
	}
	if r.analyst == groupName {
		out.Analyst = AllAnalysts
	}
	switch r.kind {
	case kindPeriod:
		out.PeriodBegan = &r.start
	case kindCharge:
		out.GroupPeriod = &r.group
		out.PureEpsilon = finite(r.curve.Pure)
		for _, d := range r.curve.Renyi {
			out.Renyi = append(out.Renyi, finite(d))
		}
	}
	return json.NewEncoder(w).Encode(out)
}

// finite returns nil for what JSON cannot write.
func finite(x float64) *float64 {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return nil
	}
	return &x
}
