package console

import (
	"context"
	"html/template"
	"net/http"
)

// pageNames are the pages, each a template that fills in layout.html.
var pageNames = []string{"login", "dbalogin", "fail", "ask", "columns", "budget", "history", "saved", "build", "help", "dba", "policy"}

// parsePages reads the templates. fragments.html has what pages and scripts both show.
func parsePages() (map[string]*template.Template, error) {
	pages := map[string]*template.Template{}
	for _, name := range pageNames {
		t, err := template.New("layout.html").Funcs(functions).ParseFS(templates, "templates/layout.html",
			"templates/fragments.html", "templates/"+name+".html")
		if err != nil {
			return nil, err
		}
		pages[name] = t
	}
	return pages, nil
}

// page is what layout.html shows.
type page struct {
	Name, Title   string
	Analyst       string
	Database      string // where there are several
	LoggedIn      bool
	Administrator bool
	CSRF          string
	Data          any
}

// render writes a page.
func (c *Console) render(w http.ResponseWriter, r *http.Request, status int, name, title string, data any) {
	p := page{Name: name, Title: title, Data: data}
	if x := c.sessions.find(c.identifier(r), hostOf(r)); x != nil {
		p.LoggedIn, p.Analyst, p.Administrator, p.CSRF = true, x.analyst, x.administrator(), x.csrf
		if len(c.config.Databases()) > 1 {
			p.Database = x.database
		}
	}
	c.write(w, r, status, name, "layout.html", p)
}

// write executes a template to its end before a byte is sent, so that a fault is no half page.
func (c *Console) write(w http.ResponseWriter, r *http.Request, status int, name, block string, data any) {
	out := pageBuffer{hold: accountOf(r).Hold()}
	defer out.hold.Free()
	err := c.pages[name].ExecuteTemplate(&out, block, data)
	switch {
	case outOfMemory(err):
		c.refuse(w, r.WithContext(context.WithValue(r.Context(), accountKey{}, nil)), err)
		return
	case err != nil:
		c.config.Log.Error("a console page failed", "page", name, "error", err)
		http.Error(w, "This page failed; the log has the reason.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(out.Bytes()) // fails if the browser is gone
}

// fail says why there is no page.
func (c *Console) fail(w http.ResponseWriter, r *http.Request, status int, why string) {
	if isFragment(r) {
		c.write(w, r, status, "fail", "refusal", refusal{Message: why})
		return
	}
	c.write(w, r, status, "fail", "layout.html", page{Name: "fail", Title: http.StatusText(status), Data: why})
}

// routes has every address of the console. ServeMux answers other methods with 405.
func (c *Console) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /login", c.showLogin)
	mux.HandleFunc("POST /login", c.login)
	mux.HandleFunc("GET /dba/login", c.showTokenForm)
	mux.HandleFunc("POST /dba/login", c.redeem)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/ask", http.StatusSeeOther)
	})
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		c.fail(w, r, http.StatusNotFound, "There is no such page.")
	})
	mux.Handle("GET /assets/", served())

	analyst := func(pattern string, h func(http.ResponseWriter, *http.Request, *session)) {
		mux.HandleFunc(pattern, c.only(false, h))
	}
	analyst("GET /ask", c.showAsk)
	analyst("POST /ask", c.ask)
	analyst("POST /dryrun", c.dryRun)
	analyst("GET /answer.csv", c.download)
	analyst("GET /answer.json", c.answerJSON)
	analyst("GET /columns", c.showColumns)
	analyst("GET /budget", c.showBudget)
	analyst("GET /history", c.showHistory)
	analyst("GET /build", c.showBuild)
	analyst("GET /saved", c.showSaved)
	analyst("POST /saved", c.changeSaved)
	analyst("GET /help", c.showHelp)
	dba := func(pattern string, h func(http.ResponseWriter, *http.Request, *session)) {
		mux.HandleFunc(pattern, c.only(true, h))
	}
	dba("GET /dba", c.showDBA)
	dba("GET /dba/policy", c.showPolicy)
	dba("POST /dba/policy", c.comparePolicy)
	mux.HandleFunc("POST /logout", c.either(c.logout))
	return mux
}

// only serves a page to sessions of one kind, and what changes something to requests with the session's token.
func (c *Console) only(administrator bool, h func(http.ResponseWriter, *http.Request, *session)) http.HandlerFunc {
	return c.either(func(w http.ResponseWriter, r *http.Request, x *session) {
		if x.administrator() != administrator {
			c.fail(w, r, http.StatusForbidden, "This page is not for who is logged in.")
			return
		}
		h(w, r, x)
	})
}

// either serves a page to every session.
func (c *Console) either(h func(http.ResponseWriter, *http.Request, *session)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := c.sessions.find(c.identifier(r), hostOf(r))
		switch {
		case x == nil && isFragment(r):
			c.write(w, r, http.StatusUnauthorized, "fail", "gone", nil)
		case x == nil && len(r.URL.Path) >= 4 && r.URL.Path[:4] == "/dba":
			http.Redirect(w, r, "/dba/login", http.StatusSeeOther)
		case x == nil:
			http.Redirect(w, r, "/login"+savedQuery(r), http.StatusSeeOther)
		case changes(r) && !x.mayAct(r):
			c.fail(w, r, http.StatusForbidden, "This form is of an earlier session. Go back, and load its page again.")
		default:
			h(w, r, x)
		}
	}
}

// isFragment reports whether a script asks for a part of a page.
func isFragment(r *http.Request) bool { return r.Header.Get("Dpproxy-Part") != "" }
