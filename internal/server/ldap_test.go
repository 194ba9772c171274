package server

import (
	"context"
	"crypto/x509"
	"testing"

	"github.com/go-ldap/ldap/v3"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/server/ldaptest"
)

// TestPasswordsOfADirectory: who is let in, and what is no verdict. Names are escaped, and spellings of other users are
// nobody's.
func TestPasswordsOfADirectory(t *testing.T) {
	url, ca := ldaptest.Serve(t, map[[2]string]int64{
		{"uid=alice,ou=people", "secret"}:        ldap.LDAPResultSuccess,
		{"uid=alice,ou=people", ""}:              ldap.LDAPResultSuccess,     // a bind as nobody
		{"uid=ALICE,ou=people", "secret"}:        ldap.LDAPResultUnavailable, // nobody asks for it
		{"uid=eve,ou=people", "secret"}:          ldap.LDAPResultUnavailable, // nor for this
		{`uid=x\,uid=alice,ou=people`, "secret"}: ldap.LDAPResultSuccess,
		{"uid=x,uid=alice,ou=people", "secret"}:  ldap.LDAPResultSuccess, // what it would be without escapes
		{"uid=locked,ou=people", "secret"}:       ldap.LDAPResultUnwillingToPerform,
		{"uid=later,ou=people", "secret"}:        ldap.LDAPResultUnavailable,
	})
	analysts := map[string]*policy.Analyst{}
	for _, name := range []string{"alice", "locked", "later", "x,uid=alice"} {
		analysts[name] = &policy.Analyst{Name: name}
	}
	i, err := newIdentity(context.Background(), &policy.Policy{
		Auth:     policy.Auth{Method: policy.AuthLDAP, LDAP: policy.LDAP{URL: url, DN: "uid=%s,ou=people", CA: ca}},
		Analysts: analysts,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer i.close()
	for _, c := range []struct {
		user, password string
		ok, fails      bool
	}{
		{"alice", "secret", true, false},
		{"alice", "Secret", false, false},
		{"alice", "", false, true}, // wire asks nobody for it; here the library refuses
		{"ALICE", "secret", false, false},
		{"eve", "secret", false, false},
		{"x,uid=alice", "secret", true, false}, // a strange name, and its own
		{"locked", "secret", false, false},
		{"later", "secret", false, true},
	} {
		analyst, ok, err := i.checkPassword(context.Background(), c.user, c.password)
		if ok != c.ok || (err != nil) != c.fails || ok && analyst != c.user {
			t.Errorf("%s, %q: %q, %v, %v", c.user, c.password, analyst, ok, err)
		}
	}
	i.directory.tls.RootCAs = x509.NewCertPool()
	if _, ok, err := i.checkPassword(context.Background(), "alice", "secret"); ok || err == nil {
		t.Errorf("a directory that nobody vouches for has seen the password: %v, %v", ok, err)
	}
}
