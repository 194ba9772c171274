package console

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/dpproxy/dpproxy/internal/ledger/stores/saved"
	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// mostTogether bounds the questions of a dashboard.
const mostTogether = 12

// togetherPage is a dashboard: saved questions that are asked as one workload.
type togetherPage struct {
	Questions []saved.Question
	Price     string   // of all; empty: nothing private is read
	Problem   *refusal // why it has no price
	Outcomes  []*outcome
}

// workload has all questions, as dpproxy.workload takes them.
func (p *togetherPage) workload() price {
	texts := make([]string, len(p.Questions))
	for i, q := range p.Questions {
		texts[i] = strings.TrimRight(q.SQL, "; \n\t")
	}
	return price{Workload: strings.Join(texts, "\n;\n")} // behind a comment, too
}

// chosen reads which of their questions an analyst wants together; nil: it has said why there is none.
func (c *Console) chosen(w http.ResponseWriter, r *http.Request, x *session, ids []string) *togetherPage {
	hold := accountOf(r).Hold()
	defer hold.Free()
	if err := hold.Grow(pageCopies * saved.MaxBytes); err != nil {
		c.refuse(w, r, err)
		return nil
	}
	list, err := c.config.Saved.List(r.Context(), x.owner())
	if err != nil {
		c.refuse(w, r, err)
		return nil
	}
	p := &togetherPage{}
	for _, q := range list {
		if slices.Contains(ids, q.ID) {
			p.Questions = append(p.Questions, q)
		}
	}
	if n := len(p.Questions); n == 0 || n > mostTogether {
		c.fail(w, r, http.StatusNotFound, "A dashboard has one to twelve of your saved questions.")
		return nil
	}
	return p
}

// showTogether shows what all would take of the budget, before anything is asked.
func (c *Console) showTogether(w http.ResponseWriter, r *http.Request, x *session) {
	p := c.chosen(w, r, x, r.URL.Query()["id"])
	if p == nil {
		return
	}
	all := p.workload()
	for _, q := range p.Questions {
		text := bindNames(q.SQL)
		if len(text.Names) > 0 {
			p.Problem = &refusal{Message: "“" + q.Name + "” has parameters.", Hint: "Ask it by itself."}
			break
		}
		plan, _, err := explain(r.Context(), x.client, all, askPage{SQL: q.SQL, text: text})
		if err != nil {
			e := explained(err, askPage{SQL: q.SQL, text: text}, len(explainPrefix))
			e.Message = "“" + q.Name + "”: " + e.Message
			p.Problem = &e
			break
		}
		if p.Price == "" {
			p.Price = plan.Workload
		}
	}
	c.render(w, r, statusOf(p.Problem), "together", "Dashboard", p)
}

// askTogether asks all, one after the other, each with all others as its workload.
func (c *Console) askTogether(w http.ResponseWriter, r *http.Request, x *session) {
	p := c.chosen(w, r, x, r.PostForm["id"])
	if p == nil {
		return
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{})
	_ = control.SetWriteDeadline(time.Time{})
	all := p.workload()
	answers := make([]*answer, len(p.Questions))
	defer func() {
		for _, a := range answers {
			a.release()
		}
	}()
	for i, q := range p.Questions {
		one := askPage{SQL: q.SQL, text: bindNames(q.SQL), Price: all}
		var err error
		if len(one.text.Names) > 0 {
			err = pgerr.New(pgerr.FeatureNotSupported, "a question of a dashboard has no parameters")
		} else {
			answers[i], err = x.client.question(r.Context(), all, q.SQL)
		}
		o := outcomeOf(answers[i], err, one)
		o.Name = q.Name
		p.Outcomes = append(p.Outcomes, o)
	}
	_ = control.SetWriteDeadline(time.Now().Add(writeTimeout))
	first := x.keepAll(answers)
	for i, o := range p.Outcomes {
		o.ID = first + i
	}
	c.render(w, r, http.StatusOK, "together", "Dashboard", p)
}
