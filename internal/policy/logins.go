package policy

import (
	"cmp"
	"net/url"
	"regexp"
	"strings"
)

// login holds what a connection string says by itself; what it leaves to the environment is empty.
type login struct{ host, port, user, database string }

// setting is one keyword=value of a connection string that is no URL.
var setting = regexp.MustCompile(`(\w+)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|(\S*))`)

func loginOf(dsn string) login {
	settings := map[string]string{}
	if u, err := url.Parse(dsn); err == nil && strings.Contains(dsn, "://") {
		settings = map[string]string{
			"host": u.Hostname(), "port": u.Port(), "user": u.User.Username(),
			"dbname": strings.TrimPrefix(u.Path, "/"),
		}
		for key, values := range u.Query() {
			settings[key] = values[0]
		}
	} else {
		for _, m := range setting.FindAllStringSubmatch(dsn, -1) {
			settings[m[1]] = strings.NewReplacer(`\\`, `\`, `\'`, `'`).Replace(m[2]) + m[3]
		}
	}
	return login{settings["host"], cmp.Or(settings["port"], "5432"), settings["user"], settings["dbname"]}
}

// checkLogins reports connections that can never be right together. The backend looks again, at what the environment
// adds.
func (d *document) checkLogins(dsns Databases, path string) {
	main, of := loginOf(dsns.Main), loginOf(dsns.Shadow)
	if dsns.Main != "" && dsns.Shadow != "" && main.host == of.host && main.port == of.port {
		if main.database == of.database && main.database != "" {
			d.fail(path+".shadow", "names main's database %s: the shadow needs one of its own", main.database)
		}
		if main.user == of.user && main.user != "" {
			d.fail(path+".shadow", "names main's role %s, which reads private rows: the shadow needs one of its own", main.user)
		}
	}
	if user := loginOf(dsns.Public).user; dsns.Main != "" && user == main.user && user != "" {
		d.fail(path+".public", "names main's role %s, which reads private rows: public needs one of its own", user)
	}
	switch twin := loginOf(dsns.Synthetic); {
	case dsns.Synthetic == "":
	case twin.sameDatabase(main), twin.sameDatabase(of):
		d.fail(path+".synthetic", "names the database %s of main or the shadow: the twin needs one of its own", twin.database)
	case twin.sameRole(main):
		d.fail(path+".synthetic", "names main's role %s, which reads private rows: the twin is read by another", twin.user)
	case twin.host != of.host || twin.port != of.port:
		d.fail(path+".synthetic", "must be on the server of the shadow, beside which setup makes it")
	}
}

// checkApart reports connections of two databases that can never be right together; path is where those of one are.
func (d *document) checkApart(one *Policy, path string, other *Policy) {
	type side struct{ main, shadow, public, twin login }
	sides := func(p *Policy) side {
		return side{
			loginOf(p.Databases.Main), loginOf(p.Databases.Shadow), loginOf(p.Databases.Public), loginOf(p.Databases.Synthetic),
		}
	}
	mine, theirs := sides(one), sides(other)
	switch {
	case mine.main.sameDatabase(theirs.main):
		d.fail(path+".main", "is the main database of %s, too: list its tables under one name", other.Name)
	case mine.shadow.sameDatabase(theirs.shadow):
		d.fail(path+".shadow", "is the shadow of %s, too: each needs one of its own", other.Name)
	case mine.shadow.sameDatabase(theirs.main):
		d.fail(path+".shadow", "names the main database of %s", other.Name)
	case mine.main.sameDatabase(theirs.shadow):
		d.fail(path+".main", "names the shadow of %s", other.Name)
	case mine.twin.sameDatabase(theirs.twin), mine.twin.sameDatabase(theirs.shadow), mine.twin.sameDatabase(theirs.main):
		d.fail(path+".synthetic", "names a database of %s: each twin is a database of its own", other.Name)
	case mine.main.sameDatabase(theirs.twin), mine.shadow.sameDatabase(theirs.twin):
		d.fail(path, "names the synthetic twin of %s as main or shadow", other.Name)
	}
	for _, reader := range []struct {
		at         string
		login, key login
	}{
		{"shadow", mine.shadow, theirs.main},
		{"public", mine.public, theirs.main},
		{"synthetic", mine.twin, theirs.main},
		{"main", mine.main, theirs.twin},
		{"main", mine.main, theirs.shadow},
		{"main", mine.main, theirs.public},
	} {
		if reader.login.sameRole(reader.key) {
			d.fail(child(path, reader.at),
				"names the role %s, which %s uses for something else: one that reads private rows is that of main alone",
				reader.login.user, other.Name)
		}
	}
}

// sameDatabase and sameRole compare what both connections say by themselves.
func (l login) sameDatabase(o login) bool {
	return l.host == o.host && l.port == o.port && l.database == o.database && l.database != ""
}

func (l login) sameRole(o login) bool {
	return l.host == o.host && l.port == o.port && l.user == o.user && l.user != ""
}
