package console_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// TestResults: what came is sorted, searched and paged, and drawn as one chooses, by the keyboard alone.
func TestResults(t *testing.T) {
	w := newWorld(t)
	b := newBrowser(t, w)
	b.login("alice")
	b.question("SELECT date_trunc('month', admitted)::date AS month, ward, count(*) AS n, avg(age) AS years FROM patients GROUP BY 1, 2 ORDER BY 1, 2")
	b.await("#outcome g[data-mark=line] path")
	spent := w.spent("alice")
	first := func(column string) string {
		return b.text("#outcome tbody tr:first-child td:nth-child(" + column + ")")
	}
	b.quiet()
	b.accessible("answer")
	b.picture("chart-lines")
	b.click("#outcome th:nth-child(3) button")
	ascending := first("3")
	b.press("#outcome th:nth-child(3) button", kb.Enter)
	if sorted := eval[string](b, "document.querySelector('#outcome th:nth-child(3)').ariaSort"); sorted != "descending" ||
		first("3") == ascending {
		t.Errorf("sorted %s, first %s", sorted, first("3"))
	}
	wants(t, "pages", b.text("#outcome"), "Rows 1 to 50 of ")
	b.click("#outcome .actions button:last-of-type")
	wants(t, "pages", b.text("#outcome"), "Rows 51 to 100 of ")
	b.press("#outcome input[type=search]", "general")
	if wards := eval[[]string](b, "[...new Set([...document.querySelectorAll('#outcome tbody td:nth-child(2)')].map(e => e.innerText))]"); strings.Join(wards, " ") != "general" {
		t.Errorf("%q", wards)
	}
	choose := func(label, value string) {
		t.Helper()
		eval[bool](b, `(() => { const s = [...document.querySelectorAll('#outcome .choices label')].find(e => e.firstChild.data === "`+label+`").querySelector('select');
			s.value = [...s.options].find(o => o.text === "`+value+`").value; s.dispatchEvent(new Event('change')); return true; })()`)
	}
	choose("Chart", "Points")
	if lines := eval[int](b, "document.querySelectorAll('#outcome g[data-mark=line] path').length"); lines != 0 {
		t.Errorf("points have %d lines", lines)
	}
	choose("of", "years")
	choose("by", "ward")
	choose("apart by", "nothing")
	choose("Chart", "Bars")
	wants(t, "chart", b.text("#outcome .picture"), "years by ward", "more are in the table")
	b.scheme("dark")
	b.accessible("answer, dark")
	b.picture("chart-bars-dark")
	if w.spent("alice") != spent {
		t.Error("looking at an answer was charged")
	}
	b.silent()
}

// TestHostileResults: names and values of an answer are texts, in its chart as in its table.
func TestHostileResults(t *testing.T) {
	w := newWorld(t, withHostile...)
	b := newBrowser(t, w)
	b.login("alice")
	b.question(`SELECT "<script>alert('name')</script>", count(*) AS "<b onclick=alert(2)>n" FROM "<img src=x onerror=alert(1)>" GROUP BY 1`)
	b.await("#outcome .picture svg")
	wants(t, "chart", b.text("#outcome .picture"), "<b onclick=alert(2)>n by <script>alert('name')</script>")
	wants(t, "chart", eval[string](b, "document.querySelector('#outcome .picture svg').textContent"), `<script>alert("key0")</scri`)
	if n := eval[int](b, "document.querySelectorAll('#outcome script, #outcome b, #outcome img').length"); n != 0 {
		t.Errorf("%d elements come of the answer", n)
	}
	v := w.visitor().login("bob")
	if r := v.do("/answer.json?id=1", nil); r.StatusCode != 404 {
		t.Errorf("another analyst's answer: %s", r.Status)
	}
	b.silent()
}
