package console

import (
	"encoding/csv"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgtype"
)

// askPage is Ask: the form, and what came of it.
type askPage struct {
	SQL     string
	Prices  []float64 // the steps of the slider
	Step    int       // where it is
	Own     int       // the policy's
	Price   price
	First   []question
	DryRun  *dryRun
	Outcome *outcome
}

// outcome is what a question gave: an answer, or a refusal.
type outcome struct {
	ID      int
	Notice  string
	Details []string
	Hint    string
	Charts  []chart
	Heads   []shown
	Shown   [][]shown
	More    int // rows that the page leaves out
	Refused *refusal
	Script  string // the question with its price, as psql takes it
}

// shownRows is how many rows a page shows.
const shownRows = 200

func (c *Console) showAsk(w http.ResponseWriter, r *http.Request, x *session) {
	c.showQuestion(w, r, x, "")
}

func (c *Console) showQuestion(w http.ResponseWriter, r *http.Request, x *session, sql string) {
	p := c.askPage(r)
	p.SQL = sql
	if tables, err := tablesOf(r.Context(), x.client); err == nil {
		p.First = firstQuestions(tables)
	}
	c.render(w, r, http.StatusOK, "ask", "Ask", p)
}

// askPage reads the form.
func (c *Console) askPage(r *http.Request) askPage {
	defaults := c.config.Proxy.Policy().Defaults
	p := askPage{SQL: strings.TrimSpace(r.PostFormValue("sql")), Prices: prices(defaults.Epsilon, defaults.EpsilonMax)}
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
		c.showQuestion(w, r, x, p.SQL)
		return
	case "price":
		d := c.dry(r, x, p)
		p.DryRun = &d
		c.render(w, r, statusOf(d.Refused), "ask", "Ask", p)
		return
	}
	// A question takes as long as main takes; the page has its time-outs back afterwards.
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{})
	_ = control.SetWriteDeadline(time.Time{})
	a, err := x.client.ask(r.Context(), p.Price, p.SQL)
	defer a.release()
	_ = control.SetWriteDeadline(time.Now().Add(writeTimeout))
	p.Outcome = outcomeOf(a, err, p)
	if a != nil {
		p.Outcome.ID = x.keep(a)
	}
	if isFragment(r) {
		c.write(w, r, statusOf(p.Outcome.Refused), "ask", "outcome", p.Outcome)
		return
	}
	c.render(w, r, statusOf(p.Outcome.Refused), "ask", "Ask", p)
}

func outcomeOf(a *answer, err error, p askPage) *outcome {
	o := &outcome{Script: script(p.Price, p.SQL)}
	if err != nil {
		e := explained(err, p.SQL, 0)
		o.Refused = &e
		return o
	}
	o.Heads, o.Shown = a.shown()
	o.More = len(a.Rows) + a.Beyond - len(o.Shown)
	for _, n := range a.Notices {
		if strings.HasPrefix(n.Message, "dpproxy: ") {
			o.Notice, o.Hint = strings.TrimPrefix(n.Message, "dpproxy: "), n.Hint
			if n.Detail != "" {
				o.Details = strings.Split(n.Detail, "\n")
			}
		}
	}
	o.Charts = charts(a, margins(o.Details))
	dim(o.Charts, o.Hint)
	return o
}

// shown is a cell of a page's table.
type shown struct {
	Text         string
	Number, Soft bool
}

// shown lays an answer out: the two ends of an interval are one column, and figures have the digits that mean
// something.
func (a *answer) shown() (heads []shown, rows [][]shown) {
	ends := a.intervals()
	rows = make([][]shown, min(shownRows, len(a.Rows)))
	for i := 0; i < len(a.Columns); i++ {
		numeric := isNumber(a.Columns[i].OID)
		heads = append(heads, shown{Text: a.Columns[i].Name, Number: numeric})
		for r := range rows {
			rows[r] = append(rows[r], a.Rows[r][i].shown(numeric))
		}
		if e, ok := ends[i]; ok {
			heads = append(heads, shown{Text: "95 %", Number: numeric})
			for r := range rows {
				low, high := a.Rows[r][e.low].shown(numeric), a.Rows[r][e.high].shown(numeric)
				text := low.Text + " … " + high.Text
				switch noLow, noHigh := a.Rows[r][e.low].Null, a.Rows[r][e.high].Null; {
				case noLow && noHigh:
					text = "unknown"
				case noLow:
					text = "≤ " + high.Text
				case noHigh:
					text = "≥ " + low.Text
				}
				rows[r] = append(rows[r], shown{text, numeric, true})
			}
			i = e.high
		}
	}
	return heads, rows
}

func (c cell) shown(numeric bool) shown {
	switch {
	case c.Null:
		return shown{"NULL", numeric, true}
	case numeric:
		return shown{figure(c.Text), true, false}
	}
	return shown{c.Text, false, false}
}

// script is the question as it is asked in psql.
func script(p price, sql string) string {
	sql = strings.TrimRight(strings.TrimSpace(sql), "; \n\t")
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	switch {
	case p.Margin != "":
		return "SET dpproxy.margin = " + quote(p.Margin) + ";\n" + sql + ";"
	case p.Epsilon != "":
		return "SET dpproxy.epsilon = " + quote(p.Epsilon) + ";\n" + sql + ";"
	}
	return sql + ";"
}

// download sends an answer of this session as CSV.
func (c *Console) download(w http.ResponseWriter, r *http.Request, x *session) {
	id, err := strconv.Atoi(r.URL.Query().Get("id"))
	a := x.answer(id)
	defer a.release()
	if err != nil || a == nil {
		c.fail(w, r, http.StatusNotFound,
			"This answer is no longer here. Ask again: while the proxy keeps it, that costs nothing.")
		return
	}
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="answer.csv"`)
	_ = a.writeCSV(csv.NewWriter(w)) // fails if the browser is gone
}

func (a *answer) writeCSV(out *csv.Writer) error {
	record := make([]string, len(a.Columns))
	for i, k := range a.Columns {
		record[i] = harmless(k.Name)
	}
	err := out.Write(record)
	for _, row := range a.Rows {
		for i, v := range row {
			record[i] = v.Text
			if !isNumber(a.Columns[i].OID) {
				record[i] = harmless(v.Text)
			}
		}
		err = errors.Join(err, out.Write(record))
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
