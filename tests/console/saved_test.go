package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestSavedQuestions: one saves a question under a name, opens it by its address, shares it, and deletes it.
func TestSavedQuestions(t *testing.T) {
	w := newWorld(t)
	b := newBrowser(t, w)
	b.login("alice")
	b.press("#sql", question)
	b.click("button[value=new]")
	b.await("#name")
	b.accessible("save")
	const name = `<img src=x onerror=alert(1)>"'&`
	b.press("#name", name)
	b.press("#with", "bob")
	b.picture("save")
	b.click("main button.main")
	b.await("#ask")
	b.until("it is open", func() bool { return b.value("#sql") == question })
	address := strings.TrimPrefix(eval[string](b, "location.href"), w.url)
	b.open("/saved")
	wants(t, "saved", b.text("main"), name, question, "shared with bob")
	b.picture("saved")
	b.accessible("saved")
	b.scheme("dark")
	b.accessible("saved, dark")
	b.phone()
	b.narrow("saved")
	b.picture("saved-phone")
	b.desk()
	b.scheme("light")

	bob, carol := w.visitor().login("bob"), w.visitor()
	wants(t, "shared", bob.do(address, nil).body, question)
	if body := bob.do("/saved", nil).body; strings.Contains(body, question) {
		t.Error("it is among bob's own")
	}
	r := carol.do(address, nil)
	to := r.Header.Get("Location")
	if r.StatusCode != http.StatusSeeOther || !strings.HasPrefix(to, "/login?") {
		t.Errorf("who has not logged in: %s, %s", r.Status, to)
	}
	wants(t, "the form", carol.do(to, nil).body, `name="of" value="alice"`, `name="id" value="`+idOf(address))
	r = carol.do("/login", url.Values{"user": {"bob"}, "password": {"demo"}, "of": {"alice"}, "id": {idOf(address)}})
	if got := r.Header.Get("Location"); r.StatusCode != http.StatusSeeOther || got != address {
		t.Errorf("after the login: %s, %s, want %s", r.Status, got, address)
	}
	for _, elsewhere := range []url.Values{
		{"of": {"//evil.example"}, "id": {"/\\evil.example"}},
		{"of": {"a\r\nSet-Cookie: x=1"}, "id": {"https://evil.example"}},
		{"id": {"x"}},
		{"of": {strings.Repeat("x", 300)}, "id": {"x"}},
	} {
		elsewhere.Set("user", "bob")
		elsewhere.Set("password", "demo")
		to := w.visitor().do("/login", elsewhere).Header.Get("Location")
		if u, err := url.Parse(to); err != nil || u.Host != "" || u.Path != "/ask" || !strings.HasPrefix(to, "/ask") {
			t.Errorf("%q leads to %q", elsewhere, to)
		}
	}
	if spent := w.spent("alice") + w.spent("bob"); spent != 0 {
		t.Errorf("saving and opening was charged %g", spent)
	}

	b.click("button[value=delete]")
	b.until("it is deleted", func() bool { return strings.Contains(b.text("main"), "Nothing here") })
	if r := bob.do(address, nil); r.StatusCode != http.StatusNotFound {
		t.Errorf("a question that is deleted: %s", r.Status)
	}
	b.silent()
}

// TestSavedQuestionsOfOthers: nobody opens, changes or deletes what is not theirs, and there is no telling whether it is
// there; a list is bounded, and forms of other sites save nothing.
func TestSavedQuestionsOfOthers(t *testing.T) {
	w := newWorld(t)
	alice, bob := w.visitor().login("alice"), w.visitor().login("bob")
	save := func(v *visitor, fields ...string) reply {
		form := url.Values{"csrf": {v.csrf}, "do": {"save"}, "sql": {"SELECT 42"}, "name": {"mine"}}
		for i := 0; i < len(fields); i += 2 {
			form.Set(fields[i], fields[i+1])
		}
		return v.do("/saved", form)
	}
	address := save(alice).Header.Get("Location")
	if !strings.HasPrefix(address, "/ask?") {
		t.Fatalf("saved at %q", address)
	}
	at, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	id := at.Query().Get("id")
	theirs, none := bob.do(address, nil), bob.do("/ask?of=alice&id=none", nil)
	if theirs.StatusCode != http.StatusNotFound || theirs.body != none.body {
		t.Errorf("another's question: %s, and one that is not there: %s", theirs.Status, none.Status)
	}
	bob.do("/saved", url.Values{"csrf": {bob.csrf}, "do": {"delete"}, "id": {id}})
	save(bob, "name", "mine", "sql", "SELECT 43", "of", "alice", "id", id)
	if body := alice.do(address, nil).body; !strings.Contains(body, "SELECT 42") {
		t.Error("bob has changed alice's question")
	}
	for what, r := range map[string]reply{
		"no token":       save(alice, "csrf", ""),
		"another's":      save(alice, "csrf", bob.csrf),
		"another origin": alice.do("/saved", url.Values{"csrf": {alice.csrf}, "name": {"x"}}, "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"),
	} {
		if r.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %s", what, r.Status)
		}
	}
	if r := alice.do("/saved?do=delete&id="+id, nil); r.StatusCode != http.StatusOK || !strings.Contains(r.body, "SELECT 42") {
		t.Error("GET has deleted a question")
	}
	full := reply{}
	for i := range 110 {
		full = save(alice, "name", strings.Repeat("n", 1+i), "sql", "SELECT 1")
	}
	if full.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("one too many: %s", full.Status)
	}
	large := strings.Repeat("x", 100_000)
	for i := range 3 {
		full = save(bob, "name", large[:50+i], "sql", large)
	}
	if full.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("too much: %s", full.Status)
	}
	wants(t, "too much", full.body, "no room for another saved question")
}

// idOf is what an address names.
func idOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return err.Error()
	}
	return u.Query().Get("id")
}

// TestASessionThatHasEnded says so where one types, and leads back.
func TestASessionThatHasEnded(t *testing.T) {
	w := newWorld(t)
	b := newBrowser(t, w)
	b.login("alice")
	eval[int](b, `fetch('/logout', {method: 'POST', redirect: 'manual', body: new URLSearchParams({csrf: document.querySelector('[name=csrf]').value})})
		.then((r) => r.status)`)
	b.press("#sql", "SELECT 1")
	b.until("the page says so", func() bool { return strings.Contains(b.text("#dryrun"), "Your session has ended. Log in again.") })
}
