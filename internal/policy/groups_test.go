package policy

import (
	"strings"
	"testing"
	"time"
)

// TestMembers: who is admitted though the policy does not list them, and with whose budget.
func TestMembers(t *testing.T) {
	p, err := Load("testdata/good/groups.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p.Analysts["listed"] = &Analyst{Name: "listed"}
	for _, c := range []struct{ user, named, want string }{
		{"bob", "", "visitors"},
		{"bob", "clinicians", "clinicians"},
		{"Bob O'Neil", "", "visitors"},
		{"bob", "clinician", ""}, // the policy has no such group
		{"listed", "clinicians", ""},
		{"*", "", ""},
		{"*profile", "", ""},
		{"*other", "", ""},
		{"", "", ""},
		{"bob\n", "", ""},
		{"bob\u202e", "", ""},
		{"b\xff", "", ""},
		{"b\u00a0ob", "", ""},
		{strings.Repeat("b", 63), "", "visitors"},
		{strings.Repeat("b", 64), "", ""},
	} {
		if got := p.MemberOf(c.user, c.named); got != c.want {
			t.Errorf("%q, %q: group %q, want %q", c.user, c.named, got, c.want)
		}
	}
	p.Auth.DefaultGroup = ""
	if got := p.MemberOf("bob", "clinicians"); got != "" {
		t.Errorf("without a default group bob has %q", got)
	}
}

// TestMembersAskAfterALogin: a lookup, which anybody can cause, admits nobody; a login does, until the policy has no
// group for them.
func TestMembersAskAfterALogin(t *testing.T) {
	p, err := Load("testdata/good/groups.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if p.Knows("bob") || p.GroupOf("bob") != "visitors" {
		t.Error("without members")
	}
	p.Members = NewMembers()
	p.Members.Found("bob", "clinicians")
	if p.Knows("bob") || p.GroupOf("bob") != "visitors" {
		t.Error("a lookup has admitted bob")
	}
	p.Members.Admit("bob")
	p.Members.Admit("eve") // was not found
	if !p.Knows("bob") || p.GroupOf("bob") != "clinicians" || p.Knows("eve") {
		t.Error("after a login")
	}
	p.Members.Found("bob", "")
	if p.GroupOf("bob") != "clinicians" {
		t.Error("a lookup has moved bob")
	}
	delete(p.Groups, "clinicians")
	if p.Knows("bob") || p.GroupOf("bob") != "" {
		t.Error("the policy has no group for bob now")
	}
}

// TestGroupsOfListedAnalysts: each has the group's budget for themselves, or their own.
func TestGroupsOfListedAnalysts(t *testing.T) {
	p, err := Load("testdata/good/groups_listed.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if a := p.Analysts["a"]; a.Group != "clinicians" || a.Budget != (Budget{10, 1e-6, 30 * 24 * time.Hour}) {
		t.Errorf("%+v", a)
	}
	if b := p.Analysts["b"]; b.Budget != (Budget{Epsilon: 2, Delta: 1e-6}) {
		t.Errorf("%+v", b)
	}
}
