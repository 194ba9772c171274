package policy

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// rows checks that there is a twin where somebody is to be shown its rows.
func (d *document) rows(p *Policy) {
	shown := p.Rows == SyntheticRows
	need := func(path, rows string) {
		if rows == SyntheticRows && p.Synthetic == nil {
			d.fail(path, "needs synthetic: {epsilon: 3, delta: 1e-6}, at the top: what dpproxy synthesize may spend on drawing the rows")
		}
		shown = shown || rows == SyntheticRows
	}
	need("rows", p.Rows)
	for _, name := range slices.Sorted(maps.Keys(p.Analysts)) {
		need(child("analysts", name)+".rows", p.Analysts[name].Rows)
	}
	if p.Synthetic != nil && !shown {
		d.note("synthetic", "nobody is shown these rows: write rows: synthetic, at the top or for an analyst")
	}
}

// twin gives the connections to the synthetic twin. Where the file has none, they are the shadow's login and its
// administrator's, in a database beside the shadow that is called after the one that clients know.
func (d *document) twin(c connections, path string, p *Policy) {
	if p.Synthetic == nil {
		for _, key := range []string{"synthetic", "synthesize"} {
			if d.has(child(path, key)) {
				d.fail(child(path, key), "needs synthetic: {epsilon: …} at the top, without which there is no twin")
			}
		}
		return
	}
	p.Databases.Synthetic = d.dsn(p, path+".synthetic", "synthetic", c.Synthetic)
	p.Databases.Synthesize = d.dsn(p, path+".synthesize", "synthesize", c.Synthesize)
	database := loginOf(p.Databases.Synthetic).database
	if !d.has(path + ".synthetic") {
		database = cmp.Or(p.Name, loginOf(p.Databases.Main).database)
		if database == "" && p.Databases.Main != "" {
			d.fail(path+".synthetic", "missing: main's connection names no database that the twin could be called after")
		}
		for _, key := range []string{"main", "shadow"} {
			if why, unset := p.missing[key]; unset {
				p.missing["synthetic"], p.Databases.Unset["synthetic"], database = why, p.Databases.Unset[key], ""
			}
		}
		if database == "" || p.Databases.Shadow == "" {
			return
		}
		database += "_synthetic"
		p.Databases.Synthetic = inDatabase(p.Databases.Shadow, database)
	}
	if !d.has(path+".synthesize") && p.Databases.AdminShadow != "" {
		p.Databases.Synthesize = inDatabase(p.Databases.AdminShadow, database)
	}
}

// Filler reports whether the twin is written by a role of its own, and not by the shadow's administrator.
func (d Databases) Filler() bool {
	return d.Synthesize != "" && loginOf(d.Synthesize).user != loginOf(d.AdminShadow).user
}

// inDatabase is a connection string with another database.
func inDatabase(dsn, database string) string {
	u, err := url.Parse(dsn)
	if err != nil || !strings.Contains(dsn, "://") {
		return dsn + " dbname='" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(database) + "'"
	}
	if q := u.Query(); q.Has("dbname") {
		q.Del("dbname")
		u.RawQuery = q.Encode()
	}
	u.Path, u.RawPath = "/"+database, ""
	return u.String()
}
