package provision

import (
	"encoding/json"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/policy"
)

// mainGrants lets a role read the listed columns of the tables that which accepts.
func mainGrants(p *policy.Policy, d *pgconn.Config, which func(*policy.Table) bool) string {
	to := " TO " + identifier(d.User)
	var b strings.Builder
	b.WriteString("GRANT CONNECT ON DATABASE " + identifier(d.Database) + to)
	schemas := map[string]bool{}
	for _, t := range p.Tables {
		if !which(t) {
			continue
		}
		if !schemas[t.Name.Schema] {
			schemas[t.Name.Schema] = true
			b.WriteString(";\nGRANT USAGE ON SCHEMA " + identifier(t.Name.Schema) + to)
		}
		b.WriteString(";\nGRANT SELECT")
		if t.Columns != nil {
			names := make([]string, len(t.Columns))
			for i, c := range t.Columns {
				names[i] = identifier(c.Name)
			}
			b.WriteString(" (" + strings.Join(names, ", ") + ")")
		}
		b.WriteString(" ON TABLE " + identifier(t.Name.Schema, t.Name.Relation) + to)
	}
	return b.String()
}

// readerGrants lets the role of a mirror see everything in it, and nobody else connect to it.
func readerGrants(p *policy.Policy, d *pgconn.Config) string {
	database, to := identifier(d.Database), " TO "+identifier(d.User)
	var b strings.Builder
	b.WriteString("REVOKE ALL ON DATABASE " + database + " FROM PUBLIC;\nGRANT CONNECT ON DATABASE " + database + to)
	for _, s := range p.Schemas() {
		b.WriteString(";\nGRANT USAGE ON SCHEMA " + identifier(s) + to)
		b.WriteString(";\nGRANT SELECT ON ALL TABLES IN SCHEMA " + identifier(s) + to)
	}
	return b.String()
}

// writerGrants lets a role fill the twin.
func writerGrants(p *policy.Policy, d *pgconn.Config) string {
	to := " TO " + identifier(d.User)
	var b strings.Builder
	b.WriteString("GRANT CONNECT, TEMPORARY ON DATABASE " + identifier(d.Database) + to)
	for _, s := range p.Schemas() {
		b.WriteString(";\nGRANT USAGE ON SCHEMA " + identifier(s) + to)
		b.WriteString(";\nGRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON ALL TABLES IN SCHEMA " + identifier(s) + to)
	}
	return b.String()
}

// relationsJSON prints the policy as sql/shadow.sql reads it.
func relationsJSON(p *policy.Policy) string {
	type column struct {
		Name    string `json:"name"`
		Comment string `json:"comment"`
	}
	type relation struct {
		Schema  string   `json:"schema"`
		Name    string   `json:"name"`
		Comment string   `json:"comment"`
		Columns []column `json:"columns"` // null: all
	}
	relations := []relation{}
	for _, t := range p.Tables {
		synthetic := ""
		if p.Synthetic != nil && !t.Public {
			synthetic = syntheticComment
		}
		r := relation{Schema: t.Name.Schema, Name: t.Name.Relation, Comment: tableComment(t) + synthetic}
		for _, c := range t.Columns {
			r.Columns = append(r.Columns, column{Name: c.Name, Comment: columnComment(t, c) + synthetic})
		}
		relations = append(relations, r)
	}
	for _, v := range p.Views {
		relations = append(relations, relation{Schema: v.Schema, Name: v.Relation, Comment: viewComment})
	}
	out, err := json.Marshal(relations)
	if err != nil {
		panic("backend: strings in structs always marshal: " + err.Error())
	}
	return string(out)
}
