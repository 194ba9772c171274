package console_test

import (
	"encoding/csv"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// pages are what analysts and administrators may open.
var (
	analystPages = []string{"/ask", "/columns", "/budget", "/history", "/help", "/answer.csv?id=1"}
	dbaPages     = []string{"/dba", "/dba/policy"}
)

// TestHeaders: every answer, whatever it is, forbids what a page of the console never does.
func TestHeaders(t *testing.T) {
	w := newWorld(t)
	v := w.visitor().login("alice")
	for _, path := range append(append(analystPages, dbaPages...), "/login", "/nowhere", "/assets/style.css",
		"/assets/../server.go") {
		r := v.do(path, nil)
		for name, want := range map[string]string{
			"X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
			"Cross-Origin-Resource-Policy": "same-origin",
			"Cross-Origin-Opener-Policy":   "same-origin",
		} {
			if got := r.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
		content := r.Header.Get("Content-Security-Policy")
		for _, want := range []string{
			"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'",
			"base-uri 'none'", "form-action 'self'",
		} {
			if !strings.Contains(content, want) {
				t.Errorf("%s: no %s in %q", path, want, content)
			}
		}
		if strings.Contains(content, "unsafe") || strings.Contains(content, "http") || strings.Contains(content, "*") {
			t.Errorf("%s: %s", path, content)
		}
		if !strings.HasPrefix(path, "/assets/") && r.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s may be cached: %q", path, r.Header.Get("Cache-Control"))
		}
	}
}

// TestOnlySessionsAreAnswered: without a session, with one that was made up, and with one of the other kind, there is
// no page.
func TestOnlySessionsAreAnswered(t *testing.T) {
	w := newWorld(t)
	stranger := w.visitor()
	for _, path := range append(append([]string{}, analystPages...), dbaPages...) {
		for _, cookie := range []string{"", "dpproxy=", "dpproxy=" + strings.Repeat("A", 52), "dpproxy=../../x"} {
			r := stranger.do(path, nil, "Cookie", cookie)
			if r.StatusCode != http.StatusSeeOther || !strings.HasSuffix(r.Header.Get("Location"), "/login") {
				t.Errorf("%s with %q: %s %s", path, cookie, r.Status, r.Header.Get("Location"))
			}
		}
	}
	analyst, dba := w.visitor().login("alice"), w.visitor().loginDBA()
	for _, path := range dbaPages {
		if r := analyst.do(path, nil); r.StatusCode != http.StatusForbidden || strings.Contains(r.body, "bob") {
			t.Errorf("an analyst gets %s: %s", path, r.Status)
		}
	}
	for _, path := range analystPages {
		if r := dba.do(path, nil); r.StatusCode != http.StatusForbidden {
			t.Errorf("an administrator gets %s: %s", path, r.Status)
		}
	}
	if r := dba.ask("SELECT count(*) FROM patients"); r.StatusCode != http.StatusForbidden {
		t.Errorf("an administrator asks: %s", r.Status)
	}
}

// TestSessionsEnd: after logout, and when the password's owner logs in again in the same browser, the old identifier is
// nobody's.
func TestSessionsEnd(t *testing.T) {
	w := newWorld(t)
	cookie := func(v *visitor) string {
		u, err := url.Parse(w.url)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range v.client.Jar.Cookies(u) {
			return k.Name + "=" + k.Value
		}
		return ""
	}
	dead := func(stolen string) bool {
		return w.visitor().do("/history", nil, "Cookie", stolen).StatusCode == http.StatusSeeOther
	}
	v := w.visitor().login("alice")
	first := cookie(v)
	if dead(first) {
		t.Fatal("the session does not live")
	}
	v.login("alice")
	second := cookie(v)
	if second == first || !dead(first) {
		t.Error("a login keeps the session that was there")
	}
	if r := v.do("/logout", url.Values{"csrf": {v.csrf}}); r.StatusCode != http.StatusSeeOther || cookie(v) != "" {
		t.Errorf("logout: %s, cookie %q", r.Status, cookie(v))
	}
	if !dead(second) {
		t.Error("the session outlives its logout")
	}

	// Fixation: an identifier that an attacker has planted is not the one that a login makes valid.
	planted := "dpproxy=" + strings.Repeat("B", 52)
	r := w.visitor().do("/login", url.Values{"user": {"alice"}, "password": {"demo"}}, "Cookie", planted)
	if set := r.Header.Get("Set-Cookie"); r.StatusCode != http.StatusSeeOther || strings.Contains(set, planted) {
		t.Errorf("%s: %s", r.Status, set)
	} else {
		for _, want := range []string{"HttpOnly", "SameSite=Strict", "Path=/"} {
			if !strings.Contains(set, want) {
				t.Errorf("no %s in %s", want, set)
			}
		}
	}
	if !dead(planted) {
		t.Error("a planted identifier became a session")
	}
}

// TestForgedRequests: nothing changes, and nothing is charged, by requests that no page of this session makes.
func TestForgedRequests(t *testing.T) {
	w := newWorld(t)
	v, other := w.visitor().login("alice"), w.visitor().login("bob")
	question := url.Values{"csrf": {v.csrf}, "sql": {"SELECT count(*) FROM patients"}, "do": {"run"}}
	with := func(csrf string) url.Values {
		form := url.Values{"sql": question["sql"], "do": question["do"]}
		if csrf != "" {
			form.Set("csrf", csrf)
		}
		return form
	}
	for name, c := range map[string]struct {
		form    url.Values
		headers []string
	}{
		"from another site": {question, []string{
			"Sec-Fetch-Site", "cross-site", "Origin",
			"https://evil.example",
		}},
		"from another port of this machine": {question, []string{
			"Sec-Fetch-Site", "same-site", "Origin",
			"http://127.0.0.1:1",
		}},
		"by a browser without Sec-Fetch-Site":   {question, []string{"Sec-Fetch-Site", "", "Origin", "https://evil.example"}},
		"from a sandboxed frame":                {question, []string{"Sec-Fetch-Site", "", "Origin", "null"}},
		"without a word of where it is from":    {question, []string{"Sec-Fetch-Site", "", "Origin", ""}},
		"without the session's token":           {with(""), nil},
		"with another session's token":          {with(other.csrf), nil},
		"with the token in another case":        {with(strings.ToLower(v.csrf)), nil},
		"as another type, which needs no leave": {question, []string{"Content-Type", "text/plain"}},
	} {
		for _, path := range []string{"/ask", "/dryrun", "/logout"} {
			if r := v.do(path, c.form, c.headers...); r.StatusCode != http.StatusForbidden {
				t.Errorf("%s, %s: %s", name, path, r.Status)
			}
		}
	}
	if r := v.do("/login", url.Values{"user": {"bob"}, "password": {"demo"}}, "Sec-Fetch-Site", "cross-site", "Origin",
		"https://evil.example"); r.StatusCode != http.StatusForbidden {
		t.Errorf("another site logs its visitor in: %s", r.Status)
	}
	for _, path := range []string{"/ask?sql=SELECT+count(*)+FROM+patients&do=run&csrf=" + v.csrf, "/dryrun", "/logout"} {
		r := v.do(path, nil)
		if path[:4] != "/ask" && r.StatusCode != http.StatusNotFound {
			t.Errorf("GET %s: %s", path, r.Status)
		}
		if strings.Contains(r.body, "SELECT count(*) FROM patients</textarea>") {
			t.Errorf("GET %s takes a question", path)
		}
	}
	if spent := w.spent("alice"); spent != 0 {
		t.Errorf("%g was charged", spent)
	}
	if r := v.ask("SELECT count(*) FROM patients"); r.StatusCode != http.StatusOK {
		t.Errorf("the page's own request: %s", r.Status)
	}
}

// TestRebinding: a name that somebody's DNS points here is no name of this server.
func TestRebinding(t *testing.T) {
	w := newWorld(t, "console: {listen: 127.0.0.1:0}", "console: {listen: 127.0.0.1:0, names: [Console.Example]}")
	for host, want := range map[string]int{
		"127.0.0.1:" + w.port(): 200, "localhost:" + w.port(): 200, "LOCALHOST": 200, "[::1]:1": 200, "console.example": 200,
		"console.example.:443": 200,
		"evil.example":         421, "evil.example:" + w.port(): 421, "127.0.0.1.evil.example": 421,
		"localhost.evil.example": 421,
		"x.console.example":      421,
		"0x7f000001":             421, "2130706433": 421,
	} {
		if r := w.visitor().do("/login", nil, "Host", host); r.StatusCode != want {
			t.Errorf("Host %s: %s, want %d", host, r.Status, want)
		}
	}
}

// TestAnotherAnalystsPast: history, budget and answers are one's own, whatever is asked for.
func TestAnotherAnalystsPast(t *testing.T) {
	w := newWorld(t)
	alice, bob := w.visitor().login("alice"), w.visitor().login("bob")
	const secret = "SELECT count(*) FROM patients WHERE name = 'a secret of alice'"
	if r := alice.ask(secret); r.StatusCode != 200 || !strings.Contains(r.body, "spent") {
		t.Fatalf("%s %s", r.Status, r.body)
	}
	wants(t, "alice's history", alice.do("/history", nil).body, "a secret of alice")
	for _, path := range []string{
		"/history", "/history?page=2", "/history?analyst=alice", "/budget", "/ask",
		"/answer.csv?id=1", "/answer.csv?id=0", "/answer.csv?id=-1",
	} {
		if r := bob.do(path, nil); strings.Contains(r.body, "secret") {
			t.Errorf("bob reads it in %s", path)
		}
	}
	for _, sql := range []string{
		"SELECT * FROM dpproxy.history", "SET SESSION AUTHORIZATION alice",
		"SELECT set_config('session_authorization', 'alice', false)",
	} {
		if r := bob.ask(sql); strings.Contains(r.body, "secret") {
			t.Errorf("bob reads it by %s", sql)
		}
	}
	if w.spent("bob") != 0 {
		t.Error("bob was charged")
	}
}

// TestMarkupInNames: names, constants and released values are text, wherever they are shown.
func TestMarkupInNames(t *testing.T) {
	w := newWorld(t, withHostile...)
	b := newBrowser(t, w)
	b.login("alice")
	b.press(
		"#sql",
		`SELECT "<script>alert('name')</script>", count(*) AS "</script><svg onload=alert(2)>", count(*) FILTER (WHERE age < 40) AS "=1+1", '"><img src=x onerror=alert(3)>' AS c FROM "<img src=x onerror=alert(1)>" GROUP BY 1 -- <svg onload=alert(4)>`)
	b.await("#dryrun .part")
	b.control("#sql")
	b.await("#outcome .picture svg")
	wants(t, "answer", b.text("#outcome"), `<script>alert("key0")</script>`, `<script>alert("key1")</script>`,
		"<script>alert('name')</script>", "</script><svg onload=alert(2)>", `"><img src=x onerror=alert(3)>`)
	for _, path := range []string{"/columns", "/budget", "/history"} {
		b.open(path)
		wants(t, path, b.text("main"), "onerror=alert(1)")
	}
	b.click("form.inline button") // opens it again
	b.await("#dryrun .part")
	b.open("/ask")
	b.press("#sql", `SELECT count(*) FROM "<img src=x onerror=alert(5)>"`)
	b.await("#dryrun .refusal")
	wants(t, "refusal", b.text("#dryrun"), "<img src=x onerror=alert(5)>")
	b.click("form.who button")
	b.await("#user")
	b.press("#user", `"><svg onload=alert(6)>`)
	b.press("#password", "x\r")
	b.await(".bad")
	b.loginDBA()
	b.open("/dba/policy")
	wants(t, "policy", b.text("main"), "<img src=x onerror=alert(1)>", "<script>alert('name')</script>")
	if extra := eval[int](
		b, "document.querySelectorAll('img:not([src^=\"/assets/\"]), script:not([src^=\"/assets/\"])').length"); extra != 0 {
		t.Errorf("%d elements that no template has", extra)
	}
	b.silent()
}

// TestInlineScriptsDoNotRun: should markup ever slip through, the browser refuses to run it.
func TestInlineScriptsDoNotRun(t *testing.T) {
	b := newBrowser(t, newWorld(t))
	b.open("/login")
	eval[bool](
		b,
		`document.body.insertAdjacentHTML('beforeend', '<img src=x onerror="window.hit = 1"><svg onload="window.hit = 1">');
		const s = document.createElement('script'); s.textContent = 'window.hit = 1'; document.body.append(s); true`)
	b.until("the browser refuses all three", func() bool {
		return strings.Count(b.said.String(), "Content Security Policy") >= 3 || eval[bool](b, "window.hit === 1")
	})
	if eval[bool](b, "window.hit === 1") {
		t.Error("an inline script ran")
	}
}

// TestFramesAreRefused: no page lets itself be put into another site's frame.
func TestFramesAreRefused(t *testing.T) {
	w := newWorld(t)
	evil := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(rw, `<main id="main"><iframe src="`+w.url+`/login"></iframe></main>`)
	}))
	defer evil.Close()
	b := newBrowser(t, w)
	b.run(chromedp.Navigate(evil.URL), chromedp.WaitReady(chromedp.CSS("iframe")))
	b.until("the browser refuses to frame it", func() bool {
		return strings.Contains(b.said.String(), "frame-ancestors 'none'")
	})
}

// TestSpreadsheets: text that a spreadsheet would run is text in a download, and numbers stay numbers.
func TestSpreadsheets(t *testing.T) {
	w := newWorld(t, withHostile...)
	v := w.visitor().login("alice")
	if r := v.ask(`SELECT "=cmd|'x'", count(*), -1.5 AS n FROM "<img src=x onerror=alert(1)>" GROUP BY 1`); !strings.Contains(r.body, "HYPERLINK") {
		t.Fatalf("%s\n%s", r.Status, r.body)
	}
	r := v.do("/answer.csv?id=1", nil)
	records, err := csv.NewReader(strings.NewReader(r.body)).ReadAll()
	if err != nil || len(records) != 2 {
		t.Fatalf("%v: %s", err, r.body)
	}
	if records[0][0] != "'=cmd|'x'" || records[1][0] != `'=HYPERLINK("http://x")` || records[1][4] != "-1.5" {
		t.Errorf("%q", records)
	}
	if got := r.Header.Get("Content-Disposition"); !strings.HasPrefix(got, "attachment") {
		t.Errorf("Content-Disposition: %s", got)
	}
}
