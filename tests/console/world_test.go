// Package console_test drives the console: with a browser, and as an attacker with nothing but HTTP.
package console_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dpproxy/dpproxy/internal/demo"
	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/admin"
	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/provision"
	"github.com/dpproxy/dpproxy/internal/server"
	"github.com/dpproxy/dpproxy/policies"
)

func TestMain(m *testing.M) {
	os.Exit(func() int {
		defer pgservertest.Stop()
		return m.Run()
	}())
}

// hostile is a table whose names, comment and values are markup. Its rows belong to as many units as partition
// selection needs.
const hostile = `
	CREATE TABLE "<img src=x onerror=alert(1)>" (id bigint PRIMARY KEY, "<script>alert('name')</script>" text, "=cmd|'x'" text, age int);
	COMMENT ON TABLE "<img src=x onerror=alert(1)>" IS '<script>alert("comment")</script>';
	INSERT INTO "<img src=x onerror=alert(1)>" SELECT i, '<script>alert("key' || i % 2 || '")</script>', '=HYPERLINK("http://x")', i % 90 FROM generate_series(1, 4000) i;`

const hostileRules = `
  '"<img src=x onerror=alert(1)>"':
    privacy_unit: {name: person, column: id}
    max_rows_per_unit: 1
    columns:
      id: {}
      "<script>alert('name')</script>": {}
      "=cmd|'x'": {}
      age: {bounds: [0, 90]}
`

// The passwords of the clinic's analysts, as its policy has them.
const (
	aliceLogin = `password: "SCRAM-SHA-256$4096:0Hgp0DUP9zdWDNNc0OInIw==$ohxdOJ2SS2VSCywhxKyGM6ZJhLyvI+s/UtB+STXwJk0=:NNmL6gplFdt//qbFoG+Kq8nVDfV/E+k29zOR8e8c1uc="`
	bobLogin   = `password: "SCRAM-SHA-256$4096:g6n9Ooh3n4fxuAPCBwd8PQ==$5tgLsouGXKw/PEOWekcHhXv2n+fHsMV2abRZYLdtOsQ=:TZncrntHYQ+smtMw+qceiAwEhL6K7/llUKLfHAq35R8="`
)

// withHostile adds that table to the clinic's policy.
var withHostile = []string{"\n  wards: {public: true}", hostileRules + "\n  wards: {public: true}"}

// world is a proxy with a console, over the demo's clinic and a hostile table.
type world struct {
	t      testing.TB
	policy *policy.Policy
	proxy  *server.Server
	url    string
	log    *lines
}

// patients is the size of the clinic.
const patients = 6000

// newWorld starts a proxy. change replaces texts of its policy, in pairs.
func newWorld(t testing.TB, change ...string) *world {
	t.Helper()
	s, db := pgservertest.Database(t, hostile)
	ctx := context.Background()
	if err := demo.Load(ctx, s.DSN(db, pgserver.Superuser), patients); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		pgservertest.Exec(t, s.DSN("postgres", pgserver.Superuser), "DROP DATABASE IF EXISTS "+db+"_shadow WITH (FORCE)")
	})
	text := strings.NewReplacer(
		"${DPPROXY_MAIN_DSN}", s.DSN(db, "console_main"), "${DPPROXY_SHADOW_DSN}", s.DSN(db+"_shadow", "console_shadow"),
		"${DPPROXY_PUBLIC_DSN}", s.DSN(db, "console_public"), "${DPPROXY_ADMIN_DSN}", s.DSN(db, pgserver.Superuser),
		"listen: 127.0.0.1:6432", "listen: 127.0.0.1:0\nconsole: {listen: 127.0.0.1:0}",
	).Replace(policies.Clinic)
	text = strings.NewReplacer(change...).Replace(text)
	dir := t.TempDir()
	file := filepath.Join(dir, "policy.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := policy.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := provision.Setup(ctx, p, io.Discard); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, policy: p, log: &lines{}}
	if w.proxy, err = server.Start(ctx, p, slog.New(slog.NewTextHandler(w.log, nil))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.proxy.Close() })
	scheme := "http"
	if p.TLS != nil {
		scheme = "https"
	}
	w.url = scheme + "://" + w.proxy.ConsoleAddr().String()
	return w
}

// token is what `dpproxy console` prints.
func (w *world) token() string {
	w.t.Helper()
	for i := 0; ; i++ { // the socket may not be there yet
		token, err := admin.Token(context.Background(), w.policy.Ledger, ledger.ConfigOf(w.policy))
		if err == nil {
			return token
		}
		if i == 200 {
			w.t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// lines is a log.
type lines struct {
	sync.Mutex
	all []string
}

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	l.Lock()
	l.all = append(l.all, string(p))
	l.Unlock()
	return len(p), nil
}

func (l *lines) String() string {
	l.Lock()
	defer l.Unlock()
	return strings.Join(l.all, "")
}

// visitor is a browser without scripts: cookies, and headers as browsers send them.
type visitor struct {
	w      *world
	client http.Client
	csrf   string
}

func (w *world) visitor() *visitor {
	jar, err := cookiejar.New(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return &visitor{w: w, client: http.Client{
		Jar: jar, Timeout: time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// reply is an answer, read.
type reply struct {
	*http.Response
	body string
}

// do sends a request; form nil: GET. headers come in pairs.
func (v *visitor) do(path string, form url.Values, headers ...string) reply {
	v.w.t.Helper()
	method, body := http.MethodGet, io.Reader(nil)
	if form != nil {
		method, body = http.MethodPost, strings.NewReader(form.Encode())
	}
	r, err := http.NewRequest(method, v.w.url+path, body)
	if err != nil {
		v.w.t.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", v.w.url)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	for i := 0; i < len(headers); i += 2 {
		switch {
		case headers[i] == "Host":
			r.Host = headers[i+1]
		case headers[i+1] == "":
			r.Header.Del(headers[i])
		default:
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	answer, err := v.client.Do(r)
	if err != nil {
		v.w.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		v.w.t.Fatal(err)
	}
	return reply{answer, string(text)}
}

var csrfField = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

// login logs in and reads the token of the session's forms.
func (v *visitor) login(user string) *visitor {
	v.w.t.Helper()
	r := v.do("/login", url.Values{"user": {user}, "password": {"demo"}})
	if r.StatusCode != http.StatusSeeOther {
		v.w.t.Fatalf("login of %s: %s\n%s", user, r.Status, r.body)
	}
	return v.read("/ask")
}

func (v *visitor) loginDBA() *visitor {
	v.w.t.Helper()
	if r := v.do("/dba/login", url.Values{"token": {v.w.token()}}); r.StatusCode != http.StatusSeeOther {
		v.w.t.Fatalf("login with a token: %s\n%s", r.Status, r.body)
	}
	return v.read("/dba/policy")
}

func (v *visitor) read(page string) *visitor {
	v.w.t.Helper()
	found := csrfField.FindStringSubmatch(v.do(page, nil).body)
	if found == nil {
		v.w.t.Fatalf("%s has no form", page)
	}
	v.csrf = found[1]
	return v
}

// ask runs a question.
func (v *visitor) ask(sql string, fields ...string) reply {
	form := url.Values{"csrf": {v.csrf}, "sql": {sql}, "do": {"run"}}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	return v.do("/ask", form, "Dpproxy-Part", "1")
}

// spent is what the ledger says an analyst has spent.
func (w *world) spent(analyst string) float64 {
	w.t.Helper()
	var client *admin.Client
	for i := 0; ; i++ {
		var err error
		if client, err = admin.Dial(context.Background(), admin.SocketPath(w.policy.Ledger)); err == nil {
			break
		}
		if i == 200 {
			w.t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	defer client.Close()
	accounts, err := client.Show(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, a := range accounts {
		if a.Analyst == analyst {
			return *a.EpsilonSpent
		}
	}
	w.t.Fatalf("no account of %s", analyst)
	return 0
}

// port is that of the console.
func (w *world) port() string {
	_, port, err := net.SplitHostPort(w.proxy.ConsoleAddr().String())
	if err != nil {
		w.t.Fatal(err)
	}
	return port
}

func wants(t *testing.T, what, body string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(body, text) {
			t.Errorf("%s: no %q in\n%s", what, text, short(body))
		}
	}
}

func short(s string) string {
	if len(s) > 3000 {
		return s[:3000] + fmt.Sprintf("… (%d bytes)", len(s))
	}
	return s
}
