package console

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/memory"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// noProxy has a policy alone.
type noProxy struct{ Proxy }

func (noProxy) Policy() *policy.Policy { return &policy.Policy{} }

func countedConsole(t *testing.T, limit int64) *Console {
	t.Helper()
	c, err := New(Config{
		Databases: func() []string { return []string{"db"} }, Names: func() []string { return nil },
		Proxy: noProxy{}, Memory: memory.New(limit), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// post sends a form as a browser does.
func (c *Console) post(path, id string, body io.Reader) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", path, body)
	r.Host = "127.0.0.1"
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if id != "" {
		r.AddCookie(c.cookie(id))
	}
	w := httptest.NewRecorder()
	c.server.Handler.ServeHTTP(w, r)
	return w
}

// TestFormsAreCounted: what browsers send is counted while it is read, for strangers until they have logged in; what is
// beyond the limit is refused with a page that says what to do.
func TestFormsAreCounted(t *testing.T) {
	const limit = 1 << 20
	c := countedConsole(t, limit)
	budget := c.config.Memory
	slow, browser := io.Pipe()
	done := make(chan *httptest.ResponseRecorder)
	go func() { done <- c.post("/login", "", slow) }()
	form := "user=" + strings.Repeat("x", 5000)
	fmt.Fprint(browser, form)
	fmt.Fprint(browser, "y") // what came before has been looked at
	if used := budget.Used(); used < int64(len(form)) {
		t.Errorf("%d bytes are counted of a form of %d that is being read", used, len(form))
	}
	browser.Close()
	if w := <-done; w.Code != http.StatusUnprocessableEntity || budget.Used() != 0 {
		t.Errorf("%d, %d bytes are counted afterwards", w.Code, budget.Used())
	}
	others, err := budget.Open("").Take(limit/8 - 1000)
	if err != nil {
		t.Fatal(err)
	}
	if w := c.post("/login", "", strings.NewReader(form)); w.Code != http.StatusServiceUnavailable ||
		!strings.Contains(w.Body.String(), "limits.memory") {
		t.Errorf("beyond the limit: %d\n%s", w.Code, w.Body)
	}
	x := &session{analyst: "alice", host: "192.0.2.1", client: &client{turn: make(chan struct{}, 1)}}
	id, _ := c.sessions.begin(x)
	question := url.Values{"csrf": {"another"}, "sql": {strings.Repeat("x", 20000)}}.Encode()
	if w := c.post("/ask", id, strings.NewReader(question)); w.Code != http.StatusForbidden {
		t.Errorf("an analyst beside strangers who keep all they can: %d\n%s", w.Code, w.Body)
	}
	others.Free()
	if w := c.post("/login", "", strings.NewReader(question)); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("a stranger's long form: %d", w.Code)
	}
	if used := budget.Used(); used != 0 {
		t.Errorf("%d bytes stay", used)
	}
}

// TestPagesAreCounted: a page that is too large to be made is refused by one that is not.
func TestPagesAreCounted(t *testing.T) {
	c := countedConsole(t, 64<<10)
	w := c.post("/login", "", strings.NewReader("user="+strings.Repeat("%26", 200))) // the page says &amp; for each
	if w.Code != http.StatusUnprocessableEntity {
		t.Errorf("a small page: %d", w.Code)
	}
	c = countedConsole(t, 16<<10)
	w = c.post("/login", "", strings.NewReader("user=x"))
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "out of memory") ||
		strings.Contains(w.Body.String(), "password") {
		t.Errorf("a page beyond the limit: %d\n%s", w.Code, w.Body)
	}
	if used := c.config.Memory.Used(); used != 0 {
		t.Errorf("%d bytes stay", used)
	}
}

// TestAnswersAreCounted: an answer is counted until its session keeps it no more and nobody reads it. Those that are
// kept make room for one more, and what another session keeps does not.
func TestAnswersAreCounted(t *testing.T) {
	const size = 1000
	budget := memory.New(10 * size)
	sessionOf := func() *session {
		x := &session{client: &client{}}
		x.client.open, x.client.spare = func() *memory.Account { return budget.Open("alice") }, x.forget
		return x
	}
	ask := func(x *session) (int, error) {
		a := (&answer{memory: x.client.open()}).hold()
		defer a.release()
		if err := x.client.grow(a, size); err != nil {
			return 0, err
		}
		return x.keep([]*answer{a})[0], nil
	}
	want := func(what string, n int64) {
		t.Helper()
		if used := budget.Used(); used != n*size {
			t.Errorf("%s: %d bytes are counted, want %d", what, used, n*size)
		}
	}
	one, other := sessionOf(), sessionOf()
	for range keptAnswers + 3 {
		if _, err := ask(one); err != nil {
			t.Fatal(err)
		}
	}
	want("answers in the place of others", keptAnswers)
	for _, n := range []int{2 * size, (3 - keptAnswers) * size} { // up to the half that is the analyst's
		elsewhere := budget.Open("alice")
		defer elsewhere.Close()
		if _, err := elsewhere.Take(n); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := ask(other); !outOfMemory(err) {
		t.Errorf("beyond the analyst's share: %v", err)
	}
	want("a refusal", 5)
	id, err := ask(one)
	if err != nil {
		t.Errorf("in the place of one's own: %v", err)
	}
	const rest = 5 - keptAnswers
	want("in the place of one's own", rest+1)
	reading := one.answer(id)
	one.forget()
	want("an answer that is being read", rest+1)
	if reading.release(); one.answer(id) != nil {
		t.Error("it is still there")
	}
	want("an answer that has been read", rest)
	if id, err = ask(other); err != nil {
		t.Error(err)
	}
	asker := other.client
	other.client = nil // its connection has no part in this
	other.end()
	want("the end of a session", rest)
	other.client = asker
	if _, err := ask(other); err != nil || other.answer(id+1) != nil {
		t.Errorf("a session that has ended keeps an answer, or %v", err)
	}
	want("an answer for a session that has ended", rest)
}
