package console_test

import (
	"crypto/tls"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/go-ldap/ldap/v3"

	"github.com/dpproxy/dpproxy/internal/server/ldaptest"
)

// TestDirectory: passwords that a directory proves, for browsers behind TLS. What a wrong one shows is what an unknown
// name does.
func TestDirectory(t *testing.T) {
	address, ca := ldaptest.Serve(t, map[[2]string]int64{{"uid=alice,ou=people", "demo"}: ldap.LDAPResultSuccess})
	cert, key := certificate(t)
	w := newWorld(t, "accounting: {method", "tls: {cert: "+cert+", key: "+key+"}\nauth: {method: ldap, url: \""+address+
		"\", dn: \"uid=%s,ou=people\", ca: "+ca+"}\naccounting: {method", aliceLogin, "", bobLogin, "")
	visit := func() *visitor {
		v := w.visitor()
		v.client.Transport = &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
		return v
	}
	wants(t, "alice's question", visit().login("alice").ask("SELECT count(*) FROM patients").body, "spent")
	var pages []string
	for _, c := range [][2]string{{"alice", "Demo"}, {"bob", "demo"}, {"unlisted", "demo"}} {
		r := visit().do("/login", url.Values{"user": {c[0]}, "password": {c[1]}})
		if r.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: %s", c[0], r.Status)
		}
		pages = append(pages, strings.ReplaceAll(r.body, c[0], "…"))
	}
	if pages[0] != pages[1] || pages[1] != pages[2] {
		t.Error("the page tells wrong passwords from names that do not exist")
	}
	if log := w.log.String(); strings.Contains(log, "demo\"") || strings.Contains(log, "Demo") {
		t.Errorf("a password is in the log:\n%s", log)
	}
}
