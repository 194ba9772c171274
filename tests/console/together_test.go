package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestDashboard: several saved questions are on one page, asked as one workload, whose price is there before.
func TestDashboard(t *testing.T) {
	w := newWorld(t)
	b := newBrowser(t, w)
	v := w.visitor().login("alice")
	for name, sql := range map[string]string{
		"1 smokers <b>":   "SELECT ward, count(*) AS n FROM patients WHERE smoker GROUP BY ward ORDER BY n DESC -- all",
		"2 others":        "SELECT ward, count(*) AS n FROM patients WHERE NOT smoker GROUP BY ward ORDER BY n DESC;",
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
	b.await("main.together")
	wants(t, "price", b.text("main"), "1 smokers <b>", "of your budget for all; charged are 1 of 3 different statements")
	b.accessible("dashboard, before")
	if spent := w.spent("alice"); spent != 0 {
		t.Errorf("the price was charged %g", spent)
	}
	b.click("button.main")
	b.await("main.together .picture svg")
	b.until("each has its chart", func() bool {
		return eval[int](b, "document.querySelectorAll('main.together .picture svg').length") == 3
	})
	if charged := strings.Count(b.text("main"), "nothing spent"); charged != 2 {
		t.Errorf("%d of 3 are free\n%s", charged, short(b.text("main")))
	}
	b.accessible("dashboard")
	b.scheme("dark")
	b.accessible("dashboard, dark")
	b.picture("dashboard-dark")
	b.scheme("light")
	b.picture("dashboard")
	b.phone()
	b.open("/saved")
	b.narrow("saved")
	b.silent()

	// the others are there where one is refused; nobody asks what is not theirs
	ids := savedIDs(v.do("/saved", nil).body)
	r := v.do("/together", url.Values{"csrf": {v.csrf}, "id": ids})
	wants(t, "with a refusal", r.body, "4 refused", `class="refusal"`, "nothing spent")
	bob := w.visitor().login("bob")
	for what, r := range map[string]reply{
		"another's": bob.do("/together", url.Values{"csrf": {bob.csrf}, "id": ids}),
		"its price": bob.do("/together?id="+ids[0], nil),
		"none":      v.do("/together", nil),
	} {
		if r.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s", what, r.Status)
		}
	}
	if r := v.do("/together", url.Values{"csrf": {bob.csrf}, "id": ids}); r.StatusCode != http.StatusForbidden {
		t.Errorf("another's token: %s", r.Status)
	}
}

// savedIDs are the IDs of the saved questions on a page.
func savedIDs(page string) (ids []string) {
	for _, part := range strings.Split(page, `form="together" name="id" value="`)[1:] {
		id, _, _ := strings.Cut(part, `"`)
		ids = append(ids, id)
	}
	return ids
}
