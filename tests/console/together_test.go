package console_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestDashboard: several saved questions are one of several statements, asked as one workload, whose price is there
// before; it has a name and an address as every question, and each answer its own CSV.
func TestDashboard(t *testing.T) {
	w := newWorld(t)
	b := newBrowser(t, w)
	v := w.visitor().login("alice")
	for name, sql := range map[string]string{
		"1 smokers <b>":   "SELECT ward, count(*) AS n FROM patients WHERE smoker GROUP BY ward ORDER BY n DESC -- all",
		"2 others":        "SET dpproxy.epsilon = 0.5; SELECT ward, count(*) AS n FROM patients WHERE NOT smoker GROUP BY ward ORDER BY n DESC;",
		"3 all of a ward": "SELECT smoker, count(*) AS n FROM patients WHERE ward = 'general' GROUP BY smoker",
		"4 refused":       "SELECT name FROM patients",
	} {
		v.do("/saved", url.Values{"csrf": {v.csrf}, "name": {name}, "sql": {sql}})
	}
	b.login("alice")
	b.open("/saved")
	b.accessible("saved")
	for _, n := range []string{"1", "2", "3"} {
		b.click(".kept li:nth-child(" + n + ") input[type=checkbox]")
	}
	b.click("button[form=together]")
	b.until("its price is there", func() bool { return strings.Contains(b.text("#dryrun"), "of your budget for all") })
	wants(t, "price", b.text("#dryrun"), "charged are 1 of 3 different statements")
	b.accessible("dashboard, before")
	if spent := w.spent("alice"); spent != 0 {
		t.Errorf("the price was charged %g", spent)
	}
	b.click("button[value=run]")
	b.until("each has its chart", func() bool {
		return eval[int](b, "document.querySelectorAll('#outcome .picture svg').length") == 3
	})
	wants(t, "names", b.text("#outcome"), "1 smokers <b>", "2 others", "3 all of a ward")
	if charged := strings.Count(b.text("#outcome"), "nothing spent"); charged != 2 {
		t.Errorf("%d of 3 are free\n%s", charged, short(b.text("#outcome")))
	}
	b.accessible("dashboard")
	b.scheme("dark")
	b.accessible("dashboard, dark")
	b.picture("dashboard-dark")
	b.scheme("light")
	b.picture("dashboard")
	b.phone()
	b.narrow("dashboard")
	b.picture("dashboard-phone")
	b.desk()
	addresses := eval[[]string](b, "[...document.querySelectorAll('#outcome a[download]')].map((a) => a.getAttribute('href'))")
	if len(addresses) != 3 {
		t.Errorf("CSV at %q", addresses)
	}

	// it is saved, and opened, as every question is
	b.click("button[value=new]")
	b.await("#name")
	b.press("#name", "all three")
	b.press("#with", "bob")
	b.click("main button.main")
	b.await("#ask")
	address := strings.TrimPrefix(eval[string](b, "location.href"), w.url)
	bob := w.visitor().login("bob")
	wants(t, "shared", bob.do(address, nil).body, "-- 3 all of a ward", "WHERE NOT smoker")
	b.silent()

	// the others are there where one is refused; nobody asks what is not theirs
	ids := savedIDs(v.do("/saved", nil).body)
	r := v.ask(strings.TrimSpace(html.UnescapeString(cutBetween(v.dashboard(ids).body, "autofocus>", "</textarea>"))))
	wants(t, "with a refusal", r.body, "4 refused", `class="refusal"`, "nothing spent")
	for what, r := range map[string]reply{"another's": bob.dashboard(ids), "none": v.dashboard(nil)} {
		if r.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s", what, r.Status)
		}
	}
	v.csrf = bob.csrf
	if r := v.dashboard(ids); r.StatusCode != http.StatusForbidden {
		t.Errorf("another's token: %s", r.Status)
	}
}

// dashboard opens a question of saved ones.
func (v *visitor) dashboard(ids []string) reply {
	return v.do("/ask", url.Values{"csrf": {v.csrf}, "do": {"dashboard"}, "id": ids})
}

// cutBetween is the text between two others.
func cutBetween(s, from, to string) string {
	_, s, _ = strings.Cut(s, from)
	s, _, _ = strings.Cut(s, to)
	return s
}

// TestStatements: each of a question's statements has its answer or its refusal, at its place; a SET holds for those
// behind it and for no other question; more than twelve are refused before anything is charged.
func TestStatements(t *testing.T) {
	w := newWorld(t)
	v := w.visitor().login("alice")
	r := v.ask("SET TimeZone = 'Asia/Tokyo';\nSELECT current_setting('TimeZone') AS zone;\nSELECT nothing FROM patients;\n-- all\nSELECT count(*) FROM patients WHERE age > :least", "parameter least", "30")
	wants(t, "three", r.body, "Asia/Tokyo", `column &#34;nothing&#34; does not exist`, `data-position="81"`, "near “nothing FROM patients;”", "<h2>all</h2>", "budget spent")
	if r := v.ask("SELECT current_setting('TimeZone') AS zone"); strings.Contains(r.body, "Tokyo") {
		t.Errorf("another question has the setting: %s", short(r.body))
	}
	wants(t, "a wrong setting", v.ask("SET nothing = 1; SELECT 1").body, `unrecognized configuration parameter`)
	wants(t, "a setting alone", v.ask("SET TimeZone = 'UTC'").body, "this statement returns no rows")
	wants(t, "a transaction", v.ask("BEGIN; SELECT 1; COMMIT").body, "this statement returns no rows")
	spent := w.spent("alice")
	wants(t, "too many", v.ask(strings.Repeat("SELECT count(*) FROM patients WHERE age > 1;", 13)).body, "12 statements at most")
	wants(t, "price of too many", v.do("/dryrun", url.Values{
		"csrf": {v.csrf}, "sql": {strings.Repeat("SELECT count(*) FROM patients WHERE age > 1;", 13)},
	}, "Dpproxy-Part", "1").body, "12 statements at most")
	wants(t, "too many settings", v.ask(strings.Repeat("SET a.b = 1;", 21)+"SELECT 1").body, "this statement returns no rows")
	wants(t, "very many", v.ask(strings.Repeat("SET a.b=1;SELECT 1;", 5000)).body, "12 statements at most")
	if now := w.spent("alice"); now != spent {
		t.Errorf("too many were charged %g", now-spent)
	}
}

// TestNoneOfSeveralIsAsked where one is no SQL: it is shown at its place, before anything is charged.
func TestNoneOfSeveralIsAsked(t *testing.T) {
	w := newWorld(t)
	v := w.visitor().login("alice")
	const sql = "SELECT count(*) FROM patients;\n-- typo\nSELECT count(*) FORM patients WHERE age > :least;"
	form := url.Values{"csrf": {v.csrf}, "sql": {sql}, "parameter least": {"30"}}
	for what, body := range map[string]string{
		"answer": v.ask(sql, "parameter least", "30").body, "price": v.do("/dryrun", form, "Dpproxy-Part", "1").body,
	} {
		wants(t, what, body, "typo", `syntax error at or near &#34;patients&#34;`, `data-position="61"`, "None of the statements was asked.")
		if strings.Contains(body, "dpproxy.workload") || strings.Count(body, `class="refusal"`) != 1 {
			t.Errorf("%s: %s", what, short(body))
		}
	}
	if spent := w.spent("alice"); spent != 0 {
		t.Errorf("%g was charged", spent)
	}
}

// TestTheAnswersOfAQuestionShareItsLimits: rows and bytes of all are bounded as those of one are; each download says of
// which statement it is; whatever encoding is set, pages are UTF-8.
func TestTheAnswersOfAQuestionShareItsLimits(t *testing.T) {
	w := newWorld(t)
	v := w.visitor().login("alice")
	download := regexp.MustCompile(`/answer\.csv\?id=\d+`)
	csv := func(sql string) (lines []int, names []string) {
		r := v.ask(sql)
		for _, p := range strings.Split(r.body, `class="refusal"`)[1:] {
			t.Error(short(p))
		}
		for _, address := range download.FindAllString(r.body, -1) {
			r := v.do(address, nil)
			lines = append(lines, strings.Count(r.body, "\n")-1)
			names = append(names, r.Header.Get("Content-Disposition"))
		}
		return lines, names
	}
	lines, names := csv("-- a \"year\"/../é\nSELECT a.ward FROM wards a, wards b, wards c, wards d LIMIT 9990;" +
		"SELECT a.ward FROM wards a, wards b LIMIT 20; SELECT 1 AS one")
	if !slices.Equal(lines, []int{9990, 10, 0}) {
		t.Errorf("rows: %v", lines)
	}
	want := []string{"attachment; filename*=utf-8''a-year-%C3%A9.csv", "attachment; filename=SELECT-a-ward-FROM-wards-a-wards-b-LIMIT-20.csv", "attachment; filename=SELECT-1-AS-one.csv"}
	if !slices.Equal(names, want) {
		t.Errorf("downloads: %q", names)
	}
	const large = "SELECT repeat('x', 900000) AS x FROM wards LIMIT 3;"
	if lines, _ := csv(large + large); !slices.Equal(lines, []int{3, 1}) {
		t.Errorf("rows of large answers: %v", lines)
	}
	r := v.ask("SET NAMES 'LATIN1'; SET client_encoding = 'SQL_ASCII'; SELECT chr(233) AS é")
	if !utf8.ValidString(r.body) {
		t.Errorf("the page is no UTF-8: %q", short(r.body))
	}
	wants(t, "another encoding", r.body, "<td class=\" whole\">é</td>")
}

// savedIDs are the IDs of the saved questions on a page.
func savedIDs(page string) (ids []string) {
	for _, part := range strings.Split(page, `form="together" name="id" value="`)[1:] {
		id, _, _ := strings.Cut(part, `"`)
		ids = append(ids, id)
	}
	return ids
}
