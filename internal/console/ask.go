package console

import (
	"cmp"
	"encoding/csv"
	"errors"
	"math"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/ledger/stores/saved"
)

// askPage is Ask: the form, and what came of it.
type askPage struct {
	SQL        string
	statements []statement     // of SQL
	Saved      *saved.Question // that the page opens; nil: none
	SavedBy    string

	Parameters []parameter

	Prices   []float64 // the steps of the slider
	Step     int       // where it is
	Own      int       // the policy's
	Price    price
	First    []question
	Tables   []askable // the schema that stands beside the editor
	DryRun   *dryRun
	Outcomes []*outcome // by statement
}

// outcome is what a statement gave: an answer, or a refusal.
type outcome struct {
	ID      int
	Name    string // of the statement; empty: there is one
	Notice  string
	Details []string
	Hint    string
	Charts  []chart
	Unsure  [2]int // from which row to which the place in the order is within the noise
	Heads   []shown
	Shown   [][]shown
	More    int // rows that the page leaves out
	Refused *refusal
	Script  string // the question with its price, as psql takes it
}

// shownRows is how many rows a page shows.
const shownRows = 200

func (c *Console) showAsk(w http.ResponseWriter, r *http.Request, x *session) {
	if !r.URL.Query().Has("id") {
		c.showQuestion(w, r, x, c.askPage(r), "")
		return
	}
	switch q, err := c.opened(r, x); {
	case err != nil:
		c.refuse(w, r, err)
	case q == nil:
		c.fail(w, r, http.StatusNotFound, "There is no such question, or it is not shared with you.")
	default:
		p := c.askPage(r)
		p.Saved, p.SavedBy = q, r.URL.Query().Get("of")
		c.showQuestion(w, r, x, p, q.SQL)
	}
}

func (c *Console) showQuestion(w http.ResponseWriter, r *http.Request, x *session, p askPage, sql string) {
	p.setSQL(sql, r)
	c.renderAsk(w, r, x, p, http.StatusOK)
}

// renderAsk writes the page, with the schema.
func (c *Console) renderAsk(w http.ResponseWriter, r *http.Request, x *session, p askPage, status int) {
	if tables, err := tablesOf(r.Context(), x.client); err == nil {
		p.Tables = tables
		if p.SQL == "" {
			p.First = firstQuestions(tables)
		}
	}
	c.render(w, r, status, "ask", "Ask", p)
}

// askPage reads the form.
func (c *Console) askPage(r *http.Request) askPage {
	defaults := c.config.Proxy.Policy().Defaults
	p := askPage{Prices: prices(defaults.Epsilon, defaults.EpsilonMax)}
	p.setSQL(strings.TrimSpace(r.PostFormValue("sql")), r)
	p.Step = nearest(p.Prices, defaults.Epsilon)
	if step, err := strconv.Atoi(r.PostFormValue("step")); err == nil && step >= 0 && step < len(p.Prices) {
		p.Step = step
	}
	p.Own = nearest(p.Prices, defaults.Epsilon)
	p.Price.Margin = strings.TrimSpace(r.PostFormValue("margin"))
	if p.Step != p.Own && p.Price.Margin == "" { // else the policy decides, which tables may do in their own way
		p.Price.Epsilon = strconv.FormatFloat(p.Prices[p.Step], 'g', -1, 64)
	}
	return p
}

// ask runs the question, charged as any client's.
func (c *Console) ask(w http.ResponseWriter, r *http.Request, x *session) {
	p := c.askPage(r)
	switch r.PostFormValue("do") {
	case "open":
		c.showQuestion(w, r, x, p, p.SQL)
		return
	case "dashboard":
		sql, err := c.dashboard(r, x, r.PostForm["id"])
		switch {
		case err != nil:
			c.refuse(w, r, err)
		case sql == "":
			c.fail(w, r, http.StatusNotFound, "Choose saved questions of yours.")
		default:
			c.showQuestion(w, r, x, p, sql)
		}
		return
	case "price":
		d := c.dry(r, x, p)
		p.DryRun = &d
		c.renderAsk(w, r, x, p, statusOf(d.Refused))
		return
	}
	p.Outcomes = p.askAll(w, r, x)
	status := statusOf(p.Outcomes[0].Refused)
	if isFragment(r) {
		c.write(w, r, status, "ask", "outcomes", p.Outcomes)
		return
	}
	c.renderAsk(w, r, x, p, status)
}

// setSQL has the page ask a text, with the values that the form has for its parameters.
func (p *askPage) setSQL(sql string, r *http.Request) {
	p.SQL, p.statements = sql, statementsOf(sql)
	p.Parameters = parametersOf(p.statements, r.PostForm)
}

func (p askPage) outcomeOf(a *answer, err error, st statement) *outcome {
	o := &outcome{Name: st.Name}
	if st.Name == "" {
		o.Script = script(p.priceOf(st), st.SQL, p.Parameters)
	}
	if err != nil {
		e := p.explained(err, st, 0)
		o.Refused = &e
		return o
	}
	o.Heads, o.Shown = a.shown()
	o.More = len(a.Rows) + a.Beyond - len(o.Shown)
	if n := a.notice(); n != nil {
		o.Notice, o.Hint = strings.TrimPrefix(n.Message, noticePrefix), n.Hint
		if n.Detail != "" {
			o.Details = strings.Split(n.Detail, "\n")
		}
	}
	o.Charts = charts(a)
	o.Unsure[0], o.Unsure[1] = unsure(o.Hint)
	dim(o.Charts, o.Hint)
	return o
}

// shown is a cell of a page's table. Whole ones are not broken over lines.
type shown struct {
	Text                string
	Number, Soft, Whole bool
}

// wholeText is the longest text, in characters, that a table does not break.
const wholeText = 24

// shown lays an answer out: behind each released column is what is known of its accuracy, and figures have the digits
// that mean something.
func (a *answer) shown() (heads []shown, rows [][]shown) {
	columns := a.accuracies()
	for i, k := range columns {
		if k.isEnd {
			continue
		}
		number := isNumber(a.Columns[i].OID)
		heads = append(heads, shown{Text: a.Columns[i].Name, Number: number})
		switch {
		case k.released && k.ends == nil && !math.IsInf(k.margin, 1):
			heads = append(heads, shown{Text: "95 %, at most", Number: number})
		case k.released:
			heads = append(heads, shown{Text: "95 %", Number: number})
		}
	}
	for _, row := range a.Rows[:min(shownRows, len(a.Rows))] {
		rows = append(rows, a.shownRow(columns, row))
	}
	return heads, rows
}

// shownRow lays a row out.
func (a *answer) shownRow(columns []accuracy, row []cell) (cells []shown) {
	for i, k := range columns {
		if k.isEnd {
			continue
		}
		cells = append(cells, row[i].shown(a.Columns[i]))
		if k.released {
			cells = append(cells, shown{a.within(k, i, row), isNumber(a.Columns[i].OID), true, true})
		}
	}
	return cells
}

// within says in which interval a value is.
func (a *answer) within(k accuracy, at int, row []cell) string {
	switch {
	case k.ends == nil && row[at].Null:
		return ""
	case k.ends == nil:
		return k.within(a.Columns[at])
	}
	low, high := row[k.ends.low], row[k.ends.high]
	from, to := low.shown(a.Columns[at]).Text, high.shown(a.Columns[at]).Text
	switch {
	case low.Null && high.Null:
		return "unknown"
	case low.Null:
		return "≤ " + to
	case high.Null:
		return "≥ " + from
	}
	return from + " … " + to
}

func (c cell) shown(k column) shown {
	numeric := isNumber(k.OID)
	switch {
	case c.Null:
		return shown{"NULL", numeric, true, true}
	case numeric:
		return shown{figure(c.Text), true, false, true}
	}
	return shown{c.Text, false, false, isTime(k.OID) || utf8.RuneCountInString(c.Text) <= wholeText}
}

// script is the question as it is asked in psql.
func script(p price, sql string, parameters []parameter) string {
	sql = strings.TrimRight(strings.TrimSpace(sql), "; \n\t")
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	end := ";"
	if len(parameters) > 0 {
		end = " \\bind"
		for _, v := range parameters {
			end += " " + strings.ReplaceAll(quote(v.Value), `\`, `\\`)
		}
		end += ` \g`
	}
	var sets string
	for _, set := range [][2]string{{"workload", p.Workload}, {"margin", p.Margin}, {"epsilon", p.Epsilon}} {
		if set[1] != "" {
			sets += "SET dpproxy." + set[0] + " = " + quote(set[1]) + ";\n"
		}
	}
	for _, set := range p.Sets {
		sets += ended(set, ";\n")
	}
	return sets + ended(sql, end)
}

// kept finds the answer of this session that a request names; nil: it has said that there is none.
func (c *Console) kept(w http.ResponseWriter, r *http.Request, x *session) *answer {
	id, err := strconv.Atoi(r.URL.Query().Get("id"))
	if a := x.answer(id); err == nil && a != nil {
		return a
	}
	c.fail(w, r, http.StatusNotFound,
		"This answer is no longer here. Ask again: while the proxy keeps it, that costs nothing.")
	return nil
}

// download sends an answer of this session as CSV.
func (c *Console) download(w http.ResponseWriter, r *http.Request, x *session) {
	a := c.kept(w, r, x)
	if a == nil {
		return
	}
	defer a.release()
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": a.fileName()}))
	_ = a.writeCSV(csv.NewWriter(w)) // fails if the browser is gone
}

// fileName is that of a download: of which statement it is the answer, in letters, digits and hyphens.
func (a *answer) fileName() string {
	words := strings.FieldsFunc(a.Name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return cmp.Or(strings.Join(words, "-"), "answer") + ".csv"
}

// writeCSV writes an answer. A released column x without x_low and x_high is followed by x_margin, the widest of its
// values, which is empty where none is known.
func (a *answer) writeCSV(out *csv.Writer) error {
	columns := a.accuracies()
	record := make([]string, 0, len(a.Columns))
	line := func(of func(i int) string, margin func(i int) string) error {
		record = record[:0]
		for i, k := range columns {
			if record = append(record, of(i)); k.released && k.ends == nil {
				record = append(record, margin(i))
			}
		}
		return out.Write(record)
	}
	err := line(func(i int) string { return harmless(a.Columns[i].Name) },
		func(i int) string { return harmless(a.Columns[i].Name + "_margin") })
	for _, row := range a.Rows {
		value := func(i int) string {
			if isNumber(a.Columns[i].OID) {
				return row[i].Text
			}
			return harmless(row[i].Text)
		}
		margin := func(i int) string {
			if row[i].Null || math.IsInf(columns[i].margin, 1) {
				return ""
			}
			return strconv.FormatFloat(columns[i].margin, 'g', -1, 64)
		}
		err = errors.Join(err, line(value, margin))
	}
	out.Flush()
	return errors.Join(err, out.Error())
}

// harmless keeps spreadsheets from taking a text for a formula: they look behind blanks and line breaks, and take
// fullwidth signs for signs.
func harmless(s string) string {
	begun := strings.TrimLeftFunc(s, func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) })
	first, _ := utf8.DecodeRuneInString(begun)
	if begun != "" && strings.ContainsRune("=+-@＝＋－−＠", first) || s != "" && strings.ContainsRune("\t\r\n", rune(s[0])) {
		return "'" + s
	}
	return s
}

func isNumber(oid uint32) bool {
	switch oid {
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.Float4OID, pgtype.Float8OID, pgtype.NumericOID:
		return true
	}
	return false
}

func isTime(oid uint32) bool {
	switch oid {
	case pgtype.DateOID, pgtype.TimestampOID, pgtype.TimestamptzOID:
		return true
	}
	return false
}
