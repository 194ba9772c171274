package console_test

import (
	"net/url"
	"strings"
	"testing"
)

// TestParameters: a :name has a field, whose value the wire gets as a value, whatever is in it.
func TestParameters(t *testing.T) {
	w := newWorld(t)
	b := newBrowser(t, w)
	b.login("alice")
	b.press("#sql", "SELECT count(*) FROM patients WHERE ward = :ward AND age > :least::int -- :none")
	b.until("there are two fields", func() bool {
		return eval[int](b, "document.querySelectorAll('#parameters input').length") == 2
	})
	wants(t, "before there are values", b.text("#dryrun"), "there is no value for :ward")
	b.press("#parameters label:nth-child(1) input", "general")
	b.press("#parameters label:nth-child(2) input", "30")
	b.await("#dryrun .density svg")
	b.accessible("parameters")
	b.picture("parameters")
	b.click("button[value=run]")
	b.await("#outcome .single")
	wants(t, "for psql", b.value("#script"), `\bind 'general' '30' \g`)
	spent := w.spent("alice")
	if spent == 0 {
		t.Error("nothing was charged")
	}

	b.open("/ask")
	b.press("#sql", "SELECT count(*) FROM patients WHERE smoker = :smokes AND admitted < :day AND age > :least AND ward = :ward")
	b.until("each field has the type of its parameter", func() bool {
		return eval[string](b, "[...document.querySelectorAll('#parameters [name]')].map((f) => f.type).join()") == "select-one,date,number,text"
	})
	if hints := eval[string](b, "[...document.querySelectorAll('#parameters input')].map((f) => f.placeholder).join()"); hints !=
		",a number,text, without quotes" {
		t.Errorf("hints: %s", hints)
	}
	b.press("#parameters select", "true")
	b.until("what stands in the field is its value", func() bool { return strings.Contains(b.text("#dryrun"), "no value for :day") })
	b.accessible("fields")
	b.picture("fields")

	v := w.visitor().login("bob")
	wants(t, "what one chose", v.do("/ask", url.Values{
		"csrf": {v.csrf}, "do": {"price"}, "sql": {"SELECT count(*) FROM patients WHERE smoker = :smokes"}, "parameter smokes": {"false"},
	}).body, "<option selected>false</option>", "of your budget")
	const sql = "SELECT count(*) FROM patients WHERE ward = :ward"
	attack := `x' OR 'a' = 'a"><script>alert(1)</script>`
	r := v.ask(sql, "parameter ward", attack)
	if !strings.Contains(r.body, "spent") || strings.Contains(r.body, "<script>alert") {
		t.Errorf("a value of quotes: %s", short(r.body))
	}
	if r := v.ask("SELECT count(*) FROM patients WHERE age > :a", "parameter a", "x"); !strings.Contains(r.body, "invalid input syntax") {
		t.Errorf("a word for a number: %s", short(r.body))
	}
	names := make([]string, 60)
	for i := range names {
		names[i] = ":" + strings.Repeat("n", i+1)
	}
	if r := v.ask("SELECT " + strings.Join(names, ", ")); !strings.Contains(r.body, "20 parameters at most") {
		t.Errorf("60 parameters: %s", short(r.body))
	}
	b.silent()
}
