package ledger

import (
	"math"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/policy"
)

func TestConfigsThatCannotBe(t *testing.T) {
	good := policy.Budget{Epsilon: 1, Delta: 1e-6}
	for _, tt := range []struct {
		c    Config
		want string
	}{
		{Config{Method: "zcdp"}, "accounting method"},
		{Config{Method: policy.RDP, SelectionDeltaShare: 2}, "selection_delta_share"},
		{Config{Method: policy.RDP, Analysts: map[string]policy.Budget{"a": {Epsilon: 1}}}, "delta 0 of analyst a"},
		{Config{Method: policy.RDP, Group: &policy.Budget{Epsilon: 1}}, "delta 0 of all analysts together"},
		{Config{Method: policy.Pure}, "limit of failures 0"},
		{Config{Method: policy.Pure, Analysts: map[string]policy.Budget{"a": {Epsilon: math.NaN()}}}, "epsilon NaN"},
		{Config{Method: policy.Pure, Analysts: map[string]policy.Budget{"a": {Epsilon: -1}}}, "epsilon -1"},
		{Config{Method: policy.Pure, Analysts: map[string]policy.Budget{"a": {Epsilon: 1, Every: -1}}}, "period"},
		{Config{Method: policy.RDP, Analysts: map[string]policy.Budget{"": good}}, "empty name"},
	} {
		if err := tt.c.Validate(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %q", tt.c, err, tt.want)
		}
	}
}
