package console

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/dpproxy/dpproxy/internal/ledger"
)

// budgetPage is what is left, and what took the rest.
type budgetPage struct {
	Spent, Left    float64 // shares
	Epsilon, Delta float64 // that the period guarantees
	Ends           string
	In             string // how long that is
	Steps          *line  // shares, added up over time
	Questions      []asked
}

// line is drawn in hundredths of width and height.
type line struct {
	Path, First, Last, Top, Bottom string
}

// asked is a question of the analyst's own past.
type asked struct {
	At    time.Time
	SQL   string
	Share float64
}

const (
	budgetSQL  = "SELECT epsilon_total, delta, period_ends, share_spent, share_left FROM dpproxy.budget"
	historySQL = "SELECT at, query, share FROM dpproxy.history ORDER BY at DESC LIMIT $1 OFFSET $2"
	perPage    = 50
	inBurnDown = 500 // questions
	listed     = 15  // of them
)

// history reads the analyst's own questions, latest first: the ledger's view has no others.
func history(ctx context.Context, c *client, limit, offset int) ([]asked, error) {
	a, err := c.ask(ctx, price{}, historySQL, strconv.Itoa(limit), strconv.Itoa(offset))
	if err != nil {
		return nil, err
	}
	defer a.release()
	list := make([]asked, len(a.Rows))
	for i := range a.Rows {
		at, err := time.Parse("2006-01-02 15:04:05Z07", a.text(i, "at"))
		if err != nil {
			return nil, err
		}
		list[i] = asked{at, a.text(i, "query"), float(a.text(i, "share"))}
	}
	return list, nil
}

func float(s string) float64 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0
	}
	return v
}

func (c *Console) showBudget(w http.ResponseWriter, r *http.Request, x *session) {
	a, err := x.client.ask(r.Context(), price{}, budgetSQL)
	defer a.release()
	if err != nil || len(a.Rows) != 1 {
		c.refuse(w, r, err)
		return
	}
	p := budgetPage{
		Spent: float(a.text(0, "share_spent")), Left: float(a.text(0, "share_left")),
		Epsilon: float(a.text(0, "epsilon_total")), Delta: float(a.text(0, "delta")),
	}
	if at, err := time.Parse("2006-01-02 15:04:05Z07", a.text(0, "period_ends")); err == nil {
		p.Ends, p.In = moment(at), remaining(time.Until(at))
	}
	questions, err := history(r.Context(), x.client, inBurnDown, 0)
	if err != nil {
		c.refuse(w, r, err)
		return
	}
	p.Steps = burnDown(questions)
	p.Questions = questions[:min(listed, len(questions))]
	c.render(w, r, http.StatusOK, "budget", "Budget", p)
}

// burnDown adds the shares of questions up, from the earliest to the latest, as steps.
func burnDown(latestFirst []asked) *line {
	total := 0.0
	for _, q := range latestFirst {
		total += q.Share
	}
	if len(latestFirst) < 2 || total == 0 {
		return nil
	}
	first, last := latestFirst[len(latestFirst)-1].At, latestFirst[0].At
	width := last.Sub(first).Seconds()
	if width <= 0 {
		return nil
	}
	var b strings.Builder
	b.WriteString("M0 100")
	sum := 0.0
	for i := len(latestFirst) - 1; i >= 0; i-- {
		q := latestFirst[i]
		b.WriteString("H" + coordinate(100*q.At.Sub(first).Seconds()/width))
		sum += q.Share
		b.WriteString("V" + coordinate(100-96*sum/total))
	}
	return &line{Path: b.String(), First: moment(first), Last: moment(last), Top: ledger.Percent(total), Bottom: "0"}
}

// remaining says how long a time is, to its two greatest units.
func remaining(d time.Duration) string {
	hours, minutes := int(d.Hours()), int(d.Minutes())%60
	switch {
	case d <= 0:
		return "no time"
	case hours >= 48:
		return strconv.Itoa(hours/24) + " days"
	case hours >= 1 && minutes > 0:
		return strconv.Itoa(hours) + " h " + strconv.Itoa(minutes) + " min"
	case hours >= 1:
		return strconv.Itoa(hours) + " h"
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + " s"
	}
	return strconv.Itoa(minutes) + " min"
}

// historyPage is a page of the analyst's own questions.
type historyPage struct {
	Questions      []asked
	Page           int
	Newer, Older   int // 0: there is none
	Kept           string
	HasNewer, More bool
}

func (c *Console) showHistory(w http.ResponseWriter, r *http.Request, x *session) {
	at, err := strconv.Atoi(r.URL.Query().Get("page"))
	if err != nil || at < 1 || at > 1000 {
		at = 1
	}
	questions, err := history(r.Context(), x.client, perPage+1, (at-1)*perPage)
	if err != nil {
		c.refuse(w, r, err)
		return
	}
	p := historyPage{
		Questions: questions, Page: at, Newer: at - 1, Older: at + 1, HasNewer: at > 1,
		More: len(questions) > perPage,
	}
	if p.More {
		p.Questions = questions[:perPage]
	}
	if ttl := c.config.Proxy.Policy().AnswersTTL; ttl > 0 {
		p.Kept = remaining(ttl)
	}
	c.render(w, r, http.StatusOK, "history", "History", p)
}
