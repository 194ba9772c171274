package server

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dpproxy/dpproxy/internal/policy"
)

func TestNeeds(t *testing.T) {
	p := &policy.Policy{Tables: []*policy.Table{{}}}
	if diff := cmp.Diff([]string{"main", "shadow", "ledger"}, Needs(p)); diff != "" {
		t.Error(diff)
	}
	p.Tables = append(p.Tables, &policy.Table{Public: true})
	p.Auth.Method = policy.AuthQuery
	if diff := cmp.Diff([]string{"main", "shadow", "public", "auth.dsn", "ledger"}, Needs(p)); diff != "" {
		t.Error(diff)
	}
}
