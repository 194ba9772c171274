package policy

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Load reads and validates a policy file. The error is always of type Errors and lists every problem of the file.
func Load(file string) (*Policy, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		var pathErr *fs.PathError
		if errors.As(err, &pathErr) {
			err = pathErr.Err
		}
		return nil, Errors{{File: file, Message: "cannot be read: " + err.Error()}}
	}
	return Parse(file, data)
}

// Parse validates the contents of a policy file; file is its name in messages, and relative paths start in its folder.
func Parse(file string, data []byte) (*Policy, error) {
	return parse(file, data, os.LookupEnv)
}

func parse(file string, data []byte, getenv func(string) (string, bool)) (*Policy, error) {
	folder, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return nil, Errors{{File: file, Message: "its folder cannot be resolved: " + err.Error()}}
	}
	w := &walker{file: file, folder: folder, getenv: getenv, places: map[string]place{}}
	p := &Policy{File: file, missing: map[string]Problem{}, Databases: Databases{Unset: map[string]string{}}}
	if root, ok := w.document(data); ok {
		w.policy(root, p)
	}
	if len(w.problems) > 0 {
		w.problems.sort()
		return nil, w.problems
	}
	w.notes.sort()
	p.Notes = w.notes
	p.Version = p.version()
	return p, nil
}

// policy reads the whole file. Parts that others refer to come first.
func (w *walker) policy(root value, p *Policy) {
	if !root.isMapping() {
		root.fail("a policy is a mapping that starts with version: 1, not %s", root.kind())
		return
	}
	o := root.object("version", "listen", "insecure", "tls", "databases", "ledger", "accounting", "defaults", "answers",
		"certify", "timing", "failures", "auth", "budget", "profile", "console", "metrics", "log", "tracing", "limits", "pool", "groups", "analysts", "tables", "views")
	if v := o.get("version"); !v.given() {
		v.fail("missing: write version: 1")
	} else if n, ok := v.integer(0, 1<<31); ok && n != 1 {
		v.fail("%d is not known here; this program reads version 1", n)
	}
	readServer(o, p)
	readAccounting(o, p)
	d := readDefaults(o.get("defaults"), p)
	readGroups(o.get("groups"), p)
	readAuth(o.get("auth"), p)
	readAnalysts(o, p)
	p.readLedger(o.get("ledger"))
	if databases := o.get("databases"); databases.namesDatabases() {
		readSeveral(o, databases, p, d)
	} else {
		readDatabase(databases.object("main", "shadow", "public", "admin"), o, p, d)
	}
}
