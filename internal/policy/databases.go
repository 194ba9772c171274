package policy

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

// readConnections reads the connection strings of one database.
func readConnections(d object, p *Policy) {
	if !d.given() {
		d.fail("missing: the connections main and shadow")
	} else {
		for _, key := range []string{"main", "shadow"} {
			if !d.has(key) {
				d.get(key).fail("missing: a connection string such as postgres://dpproxy_%s@db/clinic", key)
			}
		}
		public := func(t *Table) bool { return t.Public }
		if i := slices.IndexFunc(p.Tables, public); i >= 0 && !d.has("public") {
			d.get("public").fail("missing: table %s is public and is read over this connection", p.Tables[i].Name)
		}
	}
	p.Databases.Main = p.dsn(d.get("main"), "main")
	p.Databases.Shadow = p.dsn(d.get("shadow"), "shadow")
	p.Databases.Public = p.dsn(d.get("public"), "public")
	checkLogins(p.Databases, d.get("shadow"), d.get("public"))
	p.readAdmin(d.get("admin"))
}

func (p *Policy) readAdmin(v value) {
	into := map[string]*string{
		"main": &p.Databases.AdminMain, "shadow": &p.Databases.AdminShadow, "ledger": &p.Databases.AdminLedger,
	}
	if v.isMapping() {
		o := v.object("main", "shadow", "ledger")
		for name, dsn := range into {
			*dsn = p.dsn(o.get(name), "admin."+name)
		}
		return
	}
	dsn := p.dsn(v, "admin")
	for _, into := range into {
		*into = dsn
	}
}

func (p *Policy) readLedger(v value) {
	s := defaultLedger
	if v.given() {
		var ok bool
		if s, ok = v.text(); !ok {
			return
		}
		if s, ok = p.expand(v, "ledger", s); !ok {
			return
		}
	}
	if path, isFile := strings.CutPrefix(s, "file:"); isFile {
		path = strings.TrimPrefix(path, "//")
		if path == "" || strings.HasSuffix(path, "/") {
			v.fail("must name a file, such as %s", defaultLedger)
			return
		}
		p.Ledger = "file:" + filepath.ToSlash(v.w.resolve(path))
		return
	}
	if !isDSN(s) || !strings.Contains(s, "://") {
		v.fail("must be file:PATH or postgres://…")
		return
	}
	p.Ledger = s
}

// dsn reads a connection string. Its text is never quoted in a message: it may hold a password.
func (p *Policy) dsn(v value, key string) string {
	s, ok := v.text()
	if !ok {
		return ""
	}
	if s, ok = p.expand(v, key, s); !ok {
		return ""
	}
	if !isDSN(s) {
		v.fail("is not a connection string such as postgres://user@host/database")
		return ""
	}
	return s
}

// isDSN looks for the form alone; the driver reads the string when it connects.
func isDSN(s string) bool {
	if strings.HasPrefix(s, "postgres://") || strings.HasPrefix(s, "postgresql://") {
		_, err := url.Parse(s)
		return err == nil
	}
	return strings.Contains(s, "=") && !strings.Contains(s, "://")
}

// Need returns an Errors that lists which of the connections are missing, or not known because an environment variable
// is not set. Keys are those of databases ("main", "admin", "admin.shadow"), "ledger" and "auth.dsn".
func (p *Policy) Need(keys ...string) error {
	var missing Errors
	for _, key := range keys {
		whole, _, _ := strings.Cut(key, ".")
		problem, unset := p.missing[key]
		if !unset {
			problem, unset = p.missing[whole]
		}
		switch {
		case unset:
			missing = append(missing, problem)
		case p.connection(key) == "":
			missing = append(missing, Problem{File: p.File, Path: p.places.inFile("databases." + key), Message: "missing: this command needs it"})
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return slices.Compact(missing)
}

func (p *Policy) connection(key string) string {
	switch key {
	case "main":
		return p.Databases.Main
	case "shadow":
		return p.Databases.Shadow
	case "public":
		return p.Databases.Public
	case "admin", "admin.main":
		return p.Databases.AdminMain
	case "admin.shadow":
		return p.Databases.AdminShadow
	case "admin.ledger":
		return p.Databases.AdminLedger
	case "ledger":
		return p.Ledger
	case "auth.dsn":
		return p.Auth.DSN
	}
	return ""
}

// MissingDSN says why a connection of databases is not there.
func (p *Policy) MissingDSN(key string) error {
	if why, ok := p.Databases.Unset[key]; ok {
		return fmt.Errorf("databases.%s: %s", key, why)
	}
	return fmt.Errorf("databases.%s is missing in the policy", key)
}
