package console_test

import (
	"math"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// margins are the numbers behind «±» in a text.
func margins(text string) (list []float64) {
	for _, found := range regexp.MustCompile(`± ?([0-9.\x{202f}]+)`).FindAllStringSubmatch(text, -1) {
		if v, err := strconv.ParseFloat(strings.ReplaceAll(found[1], "\u202f", ""), 64); err == nil {
			list = append(list, v)
		}
	}
	return list
}

// TestWhatIsAnnouncedIsAnswered: a sum that is made of an average's release has the margin of the sum, before and after.
func TestWhatIsAnnouncedIsAnswered(t *testing.T) {
	w := newWorld(t)
	v := w.visitor().login("alice")
	for sql, sum := range map[string]int{
		"SELECT count(age), sum(age) FROM patients":                    1,
		"SELECT count(weight), avg(weight), sum(weight) FROM patients": 2,
	} {
		before := margins(v.do("/dryrun", url.Values{"csrf": {v.csrf}, "sql": {sql}}, "Dpproxy-Part", "1").body)
		after := margins(regexp.MustCompile(`(?s)<div class="charts".*?<table`).FindString(v.ask(sql).body))
		if len(before) <= sum || len(after) <= sum || math.Abs(before[sum]/after[sum]-1) > .1 {
			t.Errorf("%s: announced %v, answered %v", sql, before, after)
		}
	}
}

// TestEveryNumberHasItsAccuracy: what is computed of released values, behind a CTE and over windows, has a margin in
// table, chart and CSV, or is marked as having none.
func TestEveryNumberHasItsAccuracy(t *testing.T) {
	w := newWorld(t)
	b := newBrowser(t, w)
	b.login("alice")
	b.question(`WITH t AS (SELECT ward, count(*) AS n, sum(cost) AS c FROM visits GROUP BY ward)
		SELECT ward, n, c / n AS each, sum(n) OVER (ORDER BY n) AS running FROM t WHERE n > 0 ORDER BY n`)
	b.await("#outcome table")
	heads := eval[[]string](b, `[...document.querySelectorAll('#outcome th')].map(e => e.innerText)`)
	if got := strings.Join(heads, "; "); got != "ward; n; 95 %, at most; each; 95 %, at most; running; 95 %" {
		t.Error(got)
	}
	if cells := eval[[]string](b, `[...document.querySelectorAll('#outcome tbody tr:first-child td')].map(e => e.innerText)`); !strings.HasPrefix(cells[2], "± ") || !strings.HasPrefix(cells[4], "± ") || cells[6] != "unknown" {
		t.Errorf("%q", cells)
	}
	b.await("#outcome .picture svg")
	if off := eval[float64](b, `(() => {
		const rules = [...document.querySelectorAll('#outcome g[data-mark=rule]')].map(g => [...g.querySelectorAll('line')]);
		const zero = Number(rules[1][0].getAttribute('x1'));
		return Math.min(...rules[0].map(e => Number(e.getAttribute('x1')) - zero));
	})()`); off < 0 {
		t.Errorf("an error bar begins %g pixels left of 0", -off)
	}
	csv := eval[string](b, `fetch(document.querySelector('a[download]').href).then(r => r.text())`)
	if head, _, _ := strings.Cut(csv, "\n"); head != "ward,n,n_margin,each,each_margin,running,running_margin" {
		t.Error(head)
	}

	b.question("SELECT ward, smoker, count(*) AS n FROM patients GROUP BY 1, 2 ORDER BY 1, 2")
	b.await("#outcome table")
	b.await("#outcome .legend")
	labels := eval[[]string](b, `[...document.querySelectorAll('#outcome .picture g[data-mark="y-axis tick label"] text')].map(e => e.textContent)`)
	seen := map[string]bool{}
	for _, l := range labels {
		if seen[l] {
			t.Errorf("two bars are called %s", l)
		}
		seen[l] = true
	}
	if !seen["cardiology · t"] {
		t.Errorf("%q", labels)
	}
	b.picture("chart-series")

	b.phone()
	b.question("SELECT date_trunc('month', admitted)::date AS month, smoker, count(*) AS n FROM patients GROUP BY 1, 2 ORDER BY 1")
	b.await("#outcome table")
	if lines := eval[float64](b, `Math.max(...[...document.querySelectorAll('#outcome tbody td')].map(e => e.offsetHeight))`); lines > 45 {
		t.Errorf("a cell of the table is %g pixels high: a date is broken over lines", lines)
	}
	b.await("#outcome g[data-mark=line] path")
	if lines := eval[int](b, "document.querySelectorAll('#outcome g[data-mark=line] path').length"); lines != 3 {
		t.Errorf("%d lines for smokers, others and unknown", lines)
	}
	b.picture("chart-lines-phone")
	b.narrow("ask")
	b.silent()
}

// question asks on a page of its own.
func (b *browser) question(sql string) {
	b.t.Helper()
	b.open("/ask")
	b.press("#sql", strings.Join(strings.Fields(sql), " "))
	b.click("button[value=run]")
}

// TestNothingMovesWhileOneTypes: the editor and its buttons stay where they are while costs and refusals come and go.
func TestNothingMovesWhileOneTypes(t *testing.T) {
	b := newBrowser(t, newWorld(t))
	b.login("alice")
	const where = `JSON.stringify(['#editor', '#step', '#margin', 'button[value=run]', '#outcome']
		.map(s => { const r = document.querySelector(s).getBoundingClientRect(); return [Math.round(r.top), Math.round(r.height)]; }))`
	before := eval[string](b, where)
	stays := func(when string) {
		t.Helper()
		if now := eval[string](b, where); now != before {
			t.Errorf("%s: %s, before %s", when, now, before)
		}
	}
	b.press("#sql", "SELECT ward, count(*), avg(age) FROM patients")
	b.await("#dryrun .refusal")
	stays("a refusal is there")
	b.press("#sql", " GROUP BY ward")
	b.await("#dryrun .density")
	stays("costs are there")
	b.silent()
}
