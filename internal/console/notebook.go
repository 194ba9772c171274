package console

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/dpproxy/dpproxy/internal/ledger/stores/saved"
)

// savedPage is the analyst's saved questions, and the form that saves one.
type savedPage struct {
	Questions []savedQuestion
	New       bool // the form is there
	SQL       string
	Problem   *refusal
}

// savedQuestion is one with the address that opens it.
type savedQuestion struct {
	saved.Question
	Address string
	Shared  string // with whom
}

// owner is whose questions a session saves.
func (s *session) owner() saved.Owner { return saved.Owner{Database: s.database, Analyst: s.analyst} }

// addressOf opens a question: for its owner, and for those with whom it is shared.
func addressOf(o saved.Owner, id string) string {
	return "/ask?" + url.Values{"of": {o.Analyst}, "id": {id}}.Encode()
}

// savedQuery is the part of an address that names the saved question of a request; empty: it has none.
func savedQuery(r *http.Request) string {
	of, id := r.FormValue("of"), r.FormValue("id")
	if of == "" || id == "" || len(of) > maxUser || len(id) > maxUser {
		return ""
	}
	return "?" + url.Values{"of": {of}, "id": {id}}.Encode()
}

func (c *Console) showSaved(w http.ResponseWriter, r *http.Request, x *session) {
	c.renderSaved(w, r, x, savedPage{})
}

func (c *Console) renderSaved(w http.ResponseWriter, r *http.Request, x *session, p savedPage) {
	hold := accountOf(r).Hold()
	defer hold.Free()
	if err := hold.Grow(pageCopies * saved.MaxBytes); err != nil {
		c.refuse(w, r, err)
		return
	}
	list, err := c.config.Saved.List(r.Context(), x.owner())
	if err != nil {
		c.config.Log.Error("reading saved questions", "error", err)
		c.refuse(w, r, err)
		return
	}
	for _, q := range list {
		p.Questions = append(p.Questions, savedQuestion{q, addressOf(x.owner(), q.ID), strings.Join(q.With, ", ")})
	}
	status := http.StatusOK
	if p.Problem != nil {
		status = http.StatusUnprocessableEntity
	}
	c.render(w, r, status, "saved", "Saved", p)
}

// changeSaved saves a question, or deletes one.
func (c *Console) changeSaved(w http.ResponseWriter, r *http.Request, x *session) {
	sql := strings.TrimSpace(r.PostFormValue("sql"))
	var err error
	to := "/saved"
	switch r.PostFormValue("do") {
	case "new":
		c.renderSaved(w, r, x, savedPage{New: true, SQL: sql})
		return
	case "delete":
		err = c.config.Saved.Delete(r.Context(), x.owner(), r.PostFormValue("id"))
	default:
		q := saved.Question{Name: r.PostFormValue("name"), SQL: sql, At: time.Now().UTC()}
		q.With = strings.FieldsFunc(r.PostFormValue("with"), func(r rune) bool { return strings.ContainsRune(", \n\t", r) })
		var id string
		if id, err = c.config.Saved.Put(r.Context(), x.owner(), q); err == nil {
			to = addressOf(x.owner(), id)
		}
	}
	if err != nil {
		c.config.Log.Info("a question was not saved", "error", err)
		e := askPage{}.explained(err, statement{}, 0)
		c.renderSaved(w, r, x, savedPage{New: sql != "", SQL: sql, Problem: &e})
		return
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// opened is the saved question that an address names; nil: it names none that the analyst may open. Whether there is
// one that they may not makes no difference.
func (c *Console) opened(r *http.Request, x *session) (*saved.Question, error) {
	at := r.URL.Query()
	owner := saved.Owner{Database: x.database, Analyst: at.Get("of")}
	q, found, err := c.config.Saved.Find(r.Context(), owner, at.Get("id"), x.analyst)
	if err != nil || !found {
		return nil, err
	}
	return &q, nil
}
