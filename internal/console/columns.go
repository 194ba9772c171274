package console

import (
	"context"
	"net/http"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"
)

// askable is a table or view as the analyst may use it.
type askable struct {
	Name    string
	SQL     string // as a statement names it
	Public  bool
	First   []question
	Columns []usable
}

type usable struct {
	Name, SQL, Type, Lower, Upper, Domain, Uses string
	First                                       []question
}

// Info says in words what completion shows beside the column.
func (u usable) Info() string {
	var lines []string
	if u.Lower != "" {
		lines = append(lines, "bounds "+u.Lower+" … "+u.Upper)
	}
	if u.Domain != "" {
		lines = append(lines, "values "+u.Domain)
	}
	return strings.Join(append(lines, "for "+u.Uses), "\n")
}

// question is one to begin with.
type question struct{ Label, SQL string }

const columnsSQL = "SELECT table_name, column_name, type, lower, upper, domain, uses FROM dpproxy.columns"

// tablesOf reads what the policy lets the analyst use, as any client reads it.
func tablesOf(ctx context.Context, c *client) ([]askable, error) {
	a, err := c.ask(ctx, price{}, columnsSQL)
	if err != nil {
		return nil, err
	}
	defer a.release()
	var tables []askable
	for i := range a.Rows {
		name := a.text(i, "table_name")
		if len(tables) == 0 || tables[len(tables)-1].Name != name {
			tables = append(tables, askable{Name: name, SQL: written(name, quoted(name)), Public: true})
		}
		t := &tables[len(tables)-1]
		u := usable{
			Name: a.text(i, "column_name"), Type: a.text(i, "type"), Lower: a.text(i, "lower"), Upper: a.text(i, "upper"),
			Domain: a.text(i, "domain"), Uses: a.text(i, "uses"),
		}
		u.SQL = written(u.Name, pgx.Identifier{u.Name}.Sanitize())
		t.Public = t.Public && u.Uses == "anything"
		t.Columns = append(t.Columns, u)
	}
	for i := range tables {
		tables[i].first()
	}
	return tables, nil
}

// first makes up a question for the table and one for each column that a question can be about.
func (t *askable) first() {
	from := " FROM " + quoted(t.Name)
	if t.Public {
		t.First = []question{{"The first rows", "SELECT *" + from + " LIMIT 20"}}
		return
	}
	t.First = []question{{"How many rows", "SELECT count(*)" + from}}
	for i := range t.Columns {
		u := &t.Columns[i]
		name := pgx.Identifier{u.Name}.Sanitize()
		uses := strings.Split(u.Uses, ", ")
		has := func(use string) bool {
			for _, s := range uses {
				if s == use {
					return true
				}
			}
			return false
		}
		switch {
		case has("aggregate") && u.Lower != "" && !isDate(u.Type):
			u.First = []question{{"Average", "SELECT avg(" + name + "), count(*)" + from}}
		case isDate(u.Type) && has("group by"):
			u.First = []question{{"By year", "SELECT date_trunc('year', " + name + ")::date AS year, count(*)" + from +
				" GROUP BY 1 ORDER BY 1"}}
		case strings.Contains(u.Uses, "group by (frequent values only)"), has("group by"):
			u.First = []question{{"By value", "SELECT " + name + ", count(*)" + from + " GROUP BY 1 ORDER BY 2 DESC"}}
		case has("count(DISTINCT)"):
			u.First = []question{{"How many different", "SELECT count(DISTINCT " + name + ")" + from}}
		}
	}
}

func isDate(typ string) bool { return typ == "date" || strings.HasPrefix(typ, "timestamp") }

// quoted is a table's name as dpproxy.columns prints it: alone, or behind its schema. A name with a dot of its own,
// without a schema, cannot be told from one: its questions are refused, which costs nothing.
func quoted(name string) string {
	if schema, relation, ok := strings.Cut(name, "."); ok {
		return pgx.Identifier{schema, relation}.Sanitize()
	}
	return pgx.Identifier{name}.Sanitize()
}

// written is a name as a person writes it: quoted only where it has to be.
func written(name, quoted string) string {
	for part := range strings.SplitSeq(name, ".") {
		if !plainName.MatchString(part) || reserved[part] {
			return quoted
		}
	}
	return name
}

var plainName = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// reserved are PostgreSQL's key words that no column may be called without quotes.
var reserved = func() map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(`all analyse analyze and any array as asc asymmetric authorization binary both
		case cast check collate collation column concurrently constraint create cross current_catalog current_date
		current_role current_schema current_time current_timestamp current_user default deferrable desc distinct do
		else end except false fetch for foreign freeze from full grant group having ilike in initially inner intersect
		into is isnull join lateral leading left like limit localtime localtimestamp natural not notnull null offset on
		only or order outer overlaps placing primary references returning right select session_user similar some
		symmetric system_user table tablesample then to trailing true union unique user using variadic verbose when
		where window with`) {
		set[word] = true
	}
	return set
}()

// firstQuestions are the ones that Ask offers while its editor is empty: of each table, and of the columns behind.
func firstQuestions(tables []askable) []question {
	const most = 6
	var list []question
	add := func(table string, q question) {
		if len(list) < most {
			list = append(list, question{table + ": " + strings.ToLower(q.Label[:1]) + q.Label[1:], q.SQL})
		}
	}
	for _, t := range tables {
		if !t.Public {
			add(t.Name, t.First[0])
		}
	}
	for _, t := range tables {
		for _, u := range t.Columns {
			if len(u.First) > 0 && (u.Domain != "" || u.Lower != "") {
				add(u.Name, u.First[0])
			}
		}
	}
	return list
}

func (c *Console) showColumns(w http.ResponseWriter, r *http.Request, x *session) {
	tables, err := tablesOf(r.Context(), x.client)
	if err != nil {
		c.refuse(w, r, err)
		return
	}
	c.render(w, r, http.StatusOK, "columns", "What may I ask", tables)
}

// refuse shows why a page cannot be had.
func (c *Console) refuse(w http.ResponseWriter, r *http.Request, err error) {
	e := askPage{}.explained(err, statement{}, 0)
	text := e.Message
	for _, more := range []string{e.Detail, e.Hint} {
		if more != "" {
			text += " " + more
		}
	}
	c.fail(w, r, http.StatusServiceUnavailable, text)
}
