package server

import (
	"testing"

	"github.com/dpproxy/dpproxy/internal/policy"
)

// TestNeed: the connections that serve asks for, of every database of a file, and what they have in common once.
func TestNeed(t *testing.T) {
	p := &policy.Policy{File: "p", Tables: []*policy.Table{{}}}
	with := func(want string, more ...string) {
		t.Helper()
		got := ""
		if err := Need(p, more...); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
	const ledger, ask = "p: databases.ledger: missing: this command needs it\n", ": missing: this command needs it"
	with(ledger + "p: databases.main" + ask + "\np: databases.shadow" + ask)
	p.Tables = append(p.Tables, &policy.Table{Public: true})
	p.Auth.Method, p.Ledger = policy.AuthQuery, "file:/l"
	with("p: databases.auth.dsn" + ask + "\np: databases.main" + ask + "\np: databases.shadow" + ask +
		"\np: databases.public" + ask)
	p.Auth.Method, p.Databases = policy.AuthSCRAM, policy.Databases{Main: "m", Shadow: "s", Public: "p"}
	with("")
	with("p: databases.admin.main"+ask, "admin.main")
	one, two := *p, *p
	two.Databases.Public = ""
	p.Several = []*policy.Policy{&one, &two}
	with("p: databases.public" + ask)
}
