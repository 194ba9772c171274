package console

import (
	"net/http"
	"slices"
	"strings"
)

// buildPage is the builder: a question of a table's columns, without SQL. The address has all that is chosen.
type buildPage struct {
	Tables  []askable
	Table   *askable // nil: none is chosen
	Chosen  map[string]string
	SQL     string
	Choices map[string][]option
}

// option is one of a list; Label is what a person reads.
type option struct{ Value, Label string }

// fields are what the form has besides the table.
var fields = []string{"measure", "group", "date", "period", "filter", "operator", "value"}

var (
	periods   = []option{{"year", "year"}, {"quarter", "quarter"}, {"month", "month"}, {"week", "week"}, {"day", "day"}}
	operators = []option{
		{"=", "is"},
		{"<>", "is not"},
		{"<", "is less than"},
		{"<=", "is at most"},
		{">", "is more than"},
		{">=", "is at least"},
		{"IS NULL", "is not known"},
		{"IS NOT NULL", "is known"},
	}
)

func (c *Console) showBuild(w http.ResponseWriter, r *http.Request, x *session) {
	tables, err := tablesOf(r.Context(), x.client)
	if err != nil {
		c.refuse(w, r, err)
		return
	}
	p := buildPage{Tables: tables, Chosen: map[string]string{}}
	query := r.URL.Query()
	for i := range tables {
		if tables[i].Name == query.Get("table") {
			p.Table = &tables[i]
		}
	}
	if p.Table != nil {
		for _, f := range fields {
			p.Chosen[f] = query.Get(f)
		}
		p.Choices = p.Table.choices()
		p.SQL = p.Table.build(p.Chosen, p.Choices)
	}
	c.render(w, r, http.StatusOK, "build", "Build", p)
}

// may reports whether a column is for one of some uses.
func (u usable) may(uses ...string) bool {
	if u.Uses == "anything" {
		return true
	}
	return slices.ContainsFunc(strings.Split(u.Uses, ", "), func(s string) bool { return slices.Contains(uses, s) })
}

// choices lists what may be chosen of a table. The value of a measure is its SQL, of a column as a statement names it.
func (t *askable) choices() map[string][]option {
	list := map[string][]option{
		"measure": {{"count(*)", "how many rows"}}, "group": {{"", "nothing"}}, "date": {{"", "no period"}},
		"period": periods, "filter": {{"", "all rows"}}, "operator": operators,
	}
	add := func(field, value, label string) { list[field] = append(list[field], option{value, label}) }
	for _, u := range t.Columns {
		if u.may("aggregate") && u.isNumber() && (u.Lower != "" || t.Public) {
			add("measure", "avg("+u.SQL+")", "average of "+u.Name)
			add("measure", "sum("+u.SQL+")", "sum of "+u.Name)
			add("measure", "percentile_cont(0.5) WITHIN GROUP (ORDER BY "+u.SQL+")", "median of "+u.Name)
		}
		if u.may("count(DISTINCT)") {
			add("measure", "count(DISTINCT "+u.SQL+")", "how many different "+u.Name)
		}
		grouped := u.may("group by", "group by (frequent values only)")
		switch {
		case isDate(u.Type) && u.may("group by", "group by in buckets"):
			add("date", u.SQL, u.Name)
		case grouped:
			add("group", u.SQL, u.Name)
		}
		if u.may("filter") {
			add("filter", u.SQL, u.Name)
		}
	}
	return list
}

func (u usable) isNumber() bool {
	for _, name := range []string{"smallint", "integer", "bigint", "numeric", "real", "double precision"} {
		if strings.HasPrefix(u.Type, name) {
			return true
		}
	}
	return false
}

// build makes the statement of what is chosen: of each list its first where something else came.
func (t *askable) build(chosen map[string]string, choices map[string][]option) string {
	pick := func(field string) string {
		for _, o := range choices[field] {
			if o.Value == chosen[field] {
				return o.Value
			}
		}
		return choices[field][0].Value
	}
	var columns, groups []string
	if date := pick("date"); date != "" {
		period := pick("period")
		columns = append(columns, "date_trunc('"+period+"', "+date+")::date AS "+written(period, period))
	}
	if group := pick("group"); group != "" {
		columns = append(columns, group)
	}
	for i := range columns {
		groups = append(groups, []string{"1", "2"}[i])
	}
	columns = append(columns, pick("measure"))
	sql := "SELECT " + strings.Join(columns, ", ") + "\nFROM " + t.SQL
	if filter := pick("filter"); filter != "" {
		sql += "\nWHERE " + filter + " " + pick("operator")
		if !strings.HasSuffix(pick("operator"), "NULL") {
			sql += " '" + strings.ReplaceAll(chosen["value"], "'", "''") + "'"
		}
	}
	if len(groups) > 0 {
		sql += "\nGROUP BY " + strings.Join(groups, ", ") + "\nORDER BY " + strings.Join(groups, ", ")
	}
	return sql
}
