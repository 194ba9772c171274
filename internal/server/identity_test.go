package server

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/verifier"
	"github.com/dpproxy/dpproxy/internal/wire"
)

func TestCertificatesMapToAnalysts(t *testing.T) {
	i := &identity{policy: &policy.Policy{Analysts: map[string]*policy.Analyst{
		"app":   {Name: "app", Certificate: "app.example"},
		"mail":  {Name: "mail", Certificate: "m@example.org"},
		"robot": {Name: "robot", Certificate: "spiffe://example/robot"},
		"alice": {Name: "alice"}, // has none
	}}}
	uri, err := url.Parse("spiffe://example/robot")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		cert x509.Certificate
		want string
	}{
		"common name": {x509.Certificate{Subject: pkix.Name{CommonName: "app.example"}}, "app"},
		"DNS name": {
			x509.Certificate{Subject: pkix.Name{CommonName: "x"}, DNSNames: []string{"y", "app.example"}},
			"app",
		},
		"e-mail": {x509.Certificate{EmailAddresses: []string{"m@example.org"}}, "mail"},
		"URI":    {x509.Certificate{URIs: []*url.URL{uri}}, "robot"},
		"common name first": {x509.Certificate{Subject: pkix.Name{CommonName: "app.example"}, EmailAddresses: []string{
			"m@example.org",
		}}, "app"},
		"stranger":       {x509.Certificate{Subject: pkix.Name{CommonName: "alice"}}, ""},
		"no name at all": {x509.Certificate{}, ""},
	} {
		if got, ok := i.certificate(&c.cert); got != c.want || ok != (c.want != "") {
			t.Errorf("%s: %q, %v; want %q", name, got, ok, c.want)
		}
	}
}

func TestVerifiersOfThePolicy(t *testing.T) {
	i, err := newIdentity(context.Background(), &policy.Policy{
		Auth: policy.Auth{Method: policy.AuthSCRAM},
		Analysts: map[string]*policy.Analyst{
			"alice": {Name: "alice", Verifier: "v"},
			"app":   {Name: "app", Certificate: "app.example"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer i.close()
	for user, want := range map[string]wire.Credential{
		"alice": {Analyst: "alice", Verifier: "v"}, "app": {}, "ALICE": {}, "": {}, "eve": {},
	} {
		got, ok, err := i.verifier(context.Background(), user)
		if err != nil || got != want || ok != (want.Analyst != "") {
			t.Errorf("%q: %+v, %v, %v; want %+v", user, got, ok, err, want)
		}
	}
}

func TestVerifiersOfADatabase(t *testing.T) {
	s, name := pgservertest.Database(t, `CREATE TABLE logins (name text PRIMARY KEY, verifier text);
		INSERT INTO logins VALUES ('alice', 'va'), ('bob', NULL), ('unlisted', 'vu'), ('ALICE', 'other')`)
	p := &policy.Policy{
		Auth: policy.Auth{
			Method: policy.AuthQuery, DSN: s.DSN(name, pgserver.Superuser),
			Query: "SELECT name, verifier FROM logins WHERE lower(name) = lower($1) ORDER BY name = $1 DESC",
		},
		Analysts: map[string]*policy.Analyst{
			"alice": {Name: "alice"}, "bob": {Name: "bob"}, "carol": {Name: "carol"},
			"Unlisted": {Name: "Unlisted"},
		},
	}
	i, err := newIdentity(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	defer i.close()
	for user, want := range map[string]wire.Credential{
		"alice":      {Analyst: "alice", Verifier: "va"},
		"bob":        {}, // has no password
		"carol":      {}, // listed, not in the database
		"unlisted":   {}, // in the database, not listed
		"Unlisted":   {}, // the database's name is another one
		"ALICE":      {},
		"x' OR ''='": {},
	} {
		got, ok, err := i.verifier(context.Background(), user)
		if err != nil || got != want || ok != (want.Analyst != "") {
			t.Errorf("%q: %+v, %v, %v; want %+v", user, got, ok, err, want)
		}
	}
}

// TestUnknownNamesLookLikeEverybody: whatever a real user's verifier shows, some names that do not exist show too,
// however many analysts are listed, of a user whom only auth.query knows, and of a password that is new.
func TestUnknownNamesLookLikeEverybody(t *testing.T) {
	s, name := pgservertest.Database(t, `CREATE TABLE logins (name text PRIMARY KEY, verifier text);
		CREATE FUNCTION verifier(iterations int) RETURNS text RETURN format('SCRAM-SHA-256$%s:c2FsdA==$%s:%2$s', iterations, encode(sha256(''), 'base64'));
		INSERT INTO logins SELECT 'analyst' || i, verifier(4096 + i) FROM generate_series(1, 40) i;
		INSERT INTO logins VALUES ('member', verifier(9000))`)
	p := &policy.Policy{
		Auth: policy.Auth{
			Method: policy.AuthQuery, DSN: s.DSN(name, pgserver.Superuser),
			Query: "SELECT name, verifier FROM logins WHERE name = $1", DefaultGroup: "visitors",
		},
		Analysts: map[string]*policy.Analyst{},
		Groups:   map[string]policy.Budget{"visitors": {Epsilon: 1}},
		Members:  policy.NewMembers(),
	}
	var want []int
	for n := 1; n <= 40; n++ {
		a := &policy.Analyst{Name: fmt.Sprintf("analyst%d", n)}
		p.Analysts[a.Name], want = a, append(want, 4096+n)
	}
	i, err := newIdentity(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	defer i.close()
	shown := func() []int {
		seen := map[int]bool{}
		// one of 42 shapes is missing at random in fewer than one of 10¹⁹ secrets, and the secret is fixed
		for n := range 2000 {
			seen[verifier.Mock([]byte("secret"), fmt.Sprintf("nobody%d", n), i.known()).Iters] = true
		}
		return slices.Sorted(maps.Keys(seen))
	}
	if diff := cmp.Diff(want, shown()); diff != "" {
		t.Errorf("before anybody logs in (-want +got):\n%s", diff)
	}
	pgservertest.Exec(t, s.DSN(name, pgserver.Superuser),
		"UPDATE logins SET verifier = verifier(8000) WHERE name = 'analyst40'")
	for _, user := range []string{"member", "analyst40"} {
		if _, ok, err := i.verifier(t.Context(), user); err != nil || !ok {
			t.Fatalf("%s: %v", user, err)
		}
	}
	if diff := cmp.Diff(append(want[:39], 8000, 9000), shown()); diff != "" {
		t.Errorf("after a lookup of others (-want +got):\n%s", diff)
	}
}

// TestUsersWhomThePolicyDoesNotList are those with a group that the policy has, where it has a default one.
func TestUsersWhomThePolicyDoesNotList(t *testing.T) {
	s, name := pgservertest.Database(t, `CREATE TABLE logins (name text PRIMARY KEY, verifier text, team text);
		INSERT INTO logins VALUES ('alice', 'va', NULL), ('bob', 'vb', NULL), ('carol', 'vc', 'clinicians'), ('dave', 'vd', 'elsewhere'), ('erin', NULL, NULL), ('*', 'vs', NULL)`)
	p := &policy.Policy{
		Auth: policy.Auth{
			Method: policy.AuthQuery, DSN: s.DSN(name, pgserver.Superuser),
			Query: "SELECT name, verifier, team FROM logins WHERE name = $1",
		},
		Analysts: map[string]*policy.Analyst{"alice": {Name: "alice"}},
		Groups:   map[string]policy.Budget{"visitors": {Epsilon: 1}, "clinicians": {Epsilon: 1}},
		Members:  policy.NewMembers(),
	}
	i, err := newIdentity(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	defer i.close()
	for _, c := range []struct {
		defaultGroup string
		admitted     string
	}{{"", "alice"}, {"visitors", "alice bob carol"}} {
		p.Auth.DefaultGroup = c.defaultGroup
		var admitted []string
		for _, user := range []string{"alice", "bob", "carol", "dave", "erin", "*", "frank"} {
			got, ok, err := i.verifier(context.Background(), user)
			if err != nil || ok && (got.Analyst != user || got.Verifier != "v"+user[:1]) {
				t.Errorf("%s: %+v, %v", user, got, err)
			}
			if ok {
				admitted = append(admitted, user)
			}
		}
		if got := strings.Join(admitted, " "); got != c.admitted {
			t.Errorf("with the default group %q: %s, want %s", c.defaultGroup, got, c.admitted)
		}
	}
	p.Members.Admit("bob")
	p.Members.Admit("carol")
	if p.GroupOf("bob") != "visitors" || p.GroupOf("carol") != "clinicians" {
		t.Errorf("bob has %q, carol %q", p.GroupOf("bob"), p.GroupOf("carol"))
	}
}

func TestAuthQueryIsTriedBeforeListening(t *testing.T) {
	s, name := pgservertest.Database(t)
	for query, want := range map[string]string{
		"SELECT a, b FROM nowhere WHERE a = $1": "auth.query",
		"SELECT $1::text":                       "auth.query", // one column
		"SELECT a, b, c, d FROM (VALUES ('', '', '', '')) t(a, b, c, d) WHERE a = $1": "auth.query: returns 4 columns",
		"SELECT $1::text, 1/0 WHERE $1 IS NOT NULL":                                   "auth.query",
	} {
		p := &policy.Policy{Auth: policy.Auth{Method: policy.AuthQuery, DSN: s.DSN(name, pgserver.Superuser), Query: query}}
		i, err := newIdentity(context.Background(), p)
		if err == nil {
			i.close()
			t.Errorf("%s is accepted", query)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", query, err)
		}
	}
}
