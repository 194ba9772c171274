package console

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/memory"
	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// Lengths of what a login form may hold, in bytes. PostgreSQL's names end at 63, libpq's passwords at 1000 or so.
const (
	maxUser     = 256
	maxPassword = 1024
)

const tooManyLogins = "Other logins from your address are still being looked at. Try again."

// loginPage is what the login forms show.
type loginPage struct {
	User         string
	Of, ID       string // of the saved question that is opened then
	Problem      string
	Certificates bool             // nobody has a password
	Databases    []databaseChoice // one is no choice
}

type databaseChoice struct {
	Name   string
	Chosen bool
}

func (c *Console) showLogin(w http.ResponseWriter, r *http.Request) {
	c.render(w, r, http.StatusOK, "login", "Log in", c.loginPage(r, "", "", ""))
}

func (c *Console) loginPage(r *http.Request, user, database, problem string) loginPage {
	p := loginPage{
		User: user, Of: r.FormValue("of"), ID: r.FormValue("id"), Problem: problem,
		Certificates: c.config.Proxy.Policy().Auth.Method == policy.AuthCertificate,
	}
	for _, name := range c.config.Databases() {
		p.Databases = append(p.Databases, databaseChoice{name, name == database})
	}
	return p
}

// database is the one that a form names, or the only one; empty where there is none such.
func (c *Console) database(named string) string {
	names := c.config.Databases()
	switch {
	case slices.Contains(names, named):
		return named
	case len(names) == 1:
		return names[0]
	}
	return ""
}

// login proves a password by logging in to the wire with it. Whatever the wire does with wrong ones, it does here.
func (c *Console) login(w http.ResponseWriter, r *http.Request) {
	user, password, database := r.PostFormValue("user"), r.PostFormValue("password"),
		c.database(r.PostFormValue("database"))
	if database == "" {
		c.render(w, r, http.StatusUnprocessableEntity, "login", "Log in", c.loginPage(r, user, "", "Choose a database."))
		return
	}
	if user == "" || password == "" || len(user) > maxUser || len(password) > maxPassword ||
		strings.ContainsRune(user+password, 0) {
		c.render(w, r, http.StatusUnprocessableEntity, "login", "Log in",
			c.loginPage(r, user, database, "Type your name and your password."))
		return
	}
	release, ok := c.logins.take(hostOf(r))
	if !ok {
		c.render(w, r, http.StatusTooManyRequests, "login", "Log in", c.loginPage(r, user, database, tooManyLogins))
		return
	}
	conn, err := c.connect(r, user, password, database)
	release()
	if err != nil {
		c.config.Log.Info("no console session", "remote", r.RemoteAddr, "error", code(err))
		c.render(w, r, http.StatusUnauthorized, "login", "Log in", c.loginPage(r, user, database, wording(err)))
		return
	}
	x := &session{analyst: user, database: database, client: conn, host: hostOf(r)}
	conn.open, conn.spare = func() *memory.Account { return c.config.Memory.Open(user) }, x.forget
	c.admit(w, r, x, "/ask"+savedQuery(r))
}

func (c *Console) connect(r *http.Request, user, password, database string) (*client, error) {
	address, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return nil, err
	}
	from := net.TCPAddrFromAddrPort(netip.AddrPortFrom(address.Addr().Unmap(), address.Port()))
	dial := func(ctx context.Context) (net.Conn, error) { return c.config.Dial(ctx, from, r.TLS != nil) }
	return connect(r.Context(), c.wire, dial, user, password, database)
}

// wording is what a login form says of an error of the wire.
func wording(err error) string {
	var e *pgconn.PgError
	switch {
	case !errors.As(err, &e):
		return "The proxy did not answer. Try again."
	case e.Code == pgerr.InvalidPassword:
		return "Name and password do not go together. Who connects with a certificate has no password here, and asks with a PostgreSQL client."
	}
	return e.Message + "."
}

func code(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return err.Error()
}

// admit begins a session under a new identifier. The one that the browser had before ends: nobody can have planted it.
func (c *Console) admit(w http.ResponseWriter, r *http.Request, x *session, to string) {
	c.sessions.finish(c.identifier(r))
	id, ok := c.sessions.begin(x)
	if !ok {
		c.fail(w, r, http.StatusServiceUnavailable,
			"Too many administrators are logged in. A session ends by itself after half an hour of silence.")
		return
	}
	c.config.Log.Info("console session opened", "remote", r.RemoteAddr, "analyst", x.analyst, "administrator",
		x.administrator())
	http.SetCookie(w, c.cookie(id))
	http.Redirect(w, r, to, http.StatusSeeOther)
}

func (c *Console) logout(w http.ResponseWriter, r *http.Request, x *session) {
	c.sessions.finish(c.identifier(r))
	http.SetCookie(w, c.cookie(""))
	to := "/login"
	if x.administrator() {
		to = "/dba/login"
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

func (c *Console) showTokenForm(w http.ResponseWriter, r *http.Request) {
	c.render(w, r, http.StatusOK, "dbalogin", "Administrator", loginPage{})
}

// redeem takes a token in the place of a password.
func (c *Console) redeem(w http.ResponseWriter, r *http.Request) {
	token := r.PostFormValue("token")
	release, ok := c.logins.take(hostOf(r))
	if !ok {
		c.render(w, r, http.StatusTooManyRequests, "dbalogin", "Administrator", loginPage{Problem: tooManyLogins})
		return
	}
	defer release()
	ok = false
	var err error
	if token != "" && len(token) <= maxUser {
		ok, err = c.config.Proxy.Redeem(r.Context(), token)
	}
	if err != nil {
		c.config.Log.Error("a console token could not be looked up", "error", err)
	}
	if !ok {
		c.render(w, r, http.StatusUnauthorized, "dbalogin", "Administrator",
			loginPage{
				Problem: "This token is not valid, or no longer: it is good for one login, within two minutes. Run dpproxy console again.",
			})
		return
	}
	c.admit(w, r, &session{host: hostOf(r)}, "/dba")
}
