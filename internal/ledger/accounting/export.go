package accounting

import (
	"encoding/hex"
	"encoding/json"
	"io"
	"math"
	"time"

	"github.com/dpproxy/dpproxy/internal/ledger"
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
	State          string     `json:"state,omitempty"`
	Chain          string     `json:"chain"`
}

var kindNames = map[Kind]string{
	KindPeriod: "period", KindCharge: "charge", KindFail: "fail", KindClear: "clear",
	KindCheckpoint: "checkpoint", KindShared: "shared",
}

var causeNames = map[Cause]string{causeFirst: "first", causeElapsed: "elapsed", causeReset: "reset"}

// ExportRecord writes one stored record as a line of JSON.
func ExportRecord(w io.Writer, payload []byte, stored Chain, curves Curves) error {
	r, err := DecodeRecord(payload)
	if err == nil {
		err = r.find(curves)
	}
	if err != nil {
		return err
	}
	out := exported{
		Analyst: r.Analyst, Record: r.Number, At: r.At, Kind: kindNames[r.Kind], Period: r.Period,
		Cause: causeNames[r.Cause], Failures: r.Failures, Fingerprint: r.Fingerprint, Query: r.Query, Policy: r.PolicyVersion,
		Method: string(r.Method), Epsilon: r.Epsilon, SelectionDelta: r.SelectionDelta, Chain: hex.EncodeToString(stored[:]),
		State: hex.EncodeToString(r.State),
	}
	if r.Analyst == GroupName {
		out.Analyst = ledger.AllAnalysts
	}
	switch r.Kind {
	case KindPeriod:
		out.PeriodBegan = &r.Start
	case KindCharge, KindShared:
		out.GroupPeriod = &r.GroupPeriod
		out.PureEpsilon = finite(r.Curve.Pure)
		for _, d := range r.Curve.Renyi {
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
