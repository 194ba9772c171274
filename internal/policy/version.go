package policy

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
)

// version hashes what the file means for answers: the database that is asked, accounting, defaults, tables and views,
// in an order that does not depend on the file's. Passwords, listeners, limits and budgets are not part of it.
func (p *Policy) version() string {
	tables := slices.Clone(p.Tables)
	slices.SortFunc(tables, func(a, b *Table) int { return cmp.Compare(a.Name.String(), b.Name.String()) })
	views := slices.Clone(p.Views)
	slices.SortFunc(views, func(a, b Name) int { return cmp.Compare(a.String(), b.String()) })
	database := ""
	if u, err := url.Parse(p.Databases.Main); err == nil {
		database = u.Host + u.Path
	}
	var several []string
	for _, d := range p.Several {
		several = append(several, d.Version)
	}
	text, err := json.Marshal(struct {
		Format     int
		Name       string   `json:",omitempty"`
		Several    []string `json:",omitempty"`
		Database   string
		Accounting Accounting
		Defaults   Defaults
		Tables     []*Table
		Views      []Name
	}{1, p.Name, several, database, p.Accounting, p.Defaults, tables, views})
	if err != nil {
		panic(err) // every field is a finite number, a text or a list of those
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
