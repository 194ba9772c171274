package policy

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// connections is what a database says of itself.
type connections struct {
	Main, Shadow, Public  string
	Synthetic, Synthesize string
	Admin                 yaml.Node
	Analysts, Groups      []string
	Tables, Views         yaml.Node
}

// connect reads the connection strings of one database, which stands at path.
func (d *document) connect(c connections, path string, p *Policy) {
	public := func(t *Table) bool { return t.Public }
	if i := slices.IndexFunc(p.Tables, public); i >= 0 && !d.has(path+".public") {
		d.fail(path+".public", "missing: table %s is public and is read over this connection", p.Tables[i].Name)
	}
	p.Databases.Main = d.dsn(p, path+".main", "main", c.Main)
	p.Databases.Shadow = d.dsn(p, path+".shadow", "shadow", c.Shadow)
	p.Databases.Public = d.dsn(p, path+".public", "public", c.Public)
	for name, into := range map[string]*string{
		"main": &p.Databases.AdminMain, "shadow": &p.Databases.AdminShadow, "ledger": &p.Databases.AdminLedger,
	} {
		at, key, text := path+".admin", "admin", c.Admin.Value
		for of, node := range entries(&c.Admin) {
			if of == name {
				text = node.Value
			}
		}
		if c.Admin.Kind == yaml.MappingNode {
			at, key = child(at, name), "admin."+name
		}
		*into = d.dsn(p, at, key, text)
	}
	d.twin(c, path, p)
	d.checkLogins(p.Databases, path)
}

func (d *document) ledger(p *Policy) {
	s, ok := d.connection(p, "ledger", "ledger", p.Ledger)
	p.Ledger = s
	path, isFile := strings.CutPrefix(s, "file:")
	path = strings.TrimPrefix(path, "//")
	switch {
	case !ok:
	case isFile && (path == "" || strings.HasSuffix(path, "/")):
		d.fail("ledger", "must name a file, such as %s", defaultLedger)
	case isFile:
		p.Ledger = "file:" + filepath.ToSlash(d.resolve(path))
	case !isDSN(s) || !strings.Contains(s, "://"):
		d.fail("ledger", "must be file:PATH or postgres://…")
	}
}

// dsn reads a connection string, or none. Its text is never quoted in a message: it may hold a password.
func (d *document) dsn(p *Policy, path, key, s string) string {
	if !d.has(path) {
		return ""
	}
	s, ok := d.connection(p, path, key, s)
	if ok && !isDSN(s) {
		d.fail(path, "is not a connection string such as postgres://user@host/database")
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
			missing = append(missing, Problem{
				File: p.File, Path: p.places.inFile("databases." + key),
				Message: "missing: this command needs it",
			})
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
	case "synthetic":
		return p.Databases.Synthetic
	case "synthesize":
		return p.Databases.Synthesize
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
