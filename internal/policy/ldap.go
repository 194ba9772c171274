package policy

import (
	"net/url"
	"strings"
)

// readLDAP reads where passwords are proved. The proxy sees them, so both of its sides are behind TLS.
func readLDAP(o object, p *Policy) {
	keys := []string{"url", "dn", "ca"}
	if p.Auth.Method != AuthLDAP {
		for _, key := range keys {
			if o.has(key) {
				o.get(key).fail("needs method: ldap")
			}
		}
		return
	}
	if p.TLS == nil {
		o.fail("method: ldap needs tls: clients send their passwords, and are asked for them behind TLS alone")
	}
	address := o.get("url")
	s, ok := address.text()
	u, err := url.Parse(s)
	switch {
	case !address.given():
		address.fail("missing: the directory, such as ldaps://ldap.example.org")
	case ok && (err != nil || u.Scheme != "ldaps" || u.Hostname() == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != ""):
		address.fail("must be ldaps://HOST or ldaps://HOST:PORT")
	case ok:
		p.Auth.LDAP.URL = s
	}
	dn := o.get("dn")
	s, ok = dn.text()
	switch {
	case !dn.given():
		dn.fail("missing: who logs in, such as uid=%%s,ou=people,dc=example,dc=org")
	case ok && (strings.Count(s, "%s") != 1 || strings.Count(s, "%") != 1):
		dn.fail("must have one %%s, where the user's name goes, and no other %%")
	case ok:
		p.Auth.LDAP.DN = s
	}
	if s, ok := o.get("ca").text(); ok {
		p.Auth.LDAP.CA = o.w.resolve(s)
	}
}
