package console_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// TestBuilder: a question is chosen from lists, shown in SQL, and opened in the editor, where it costs what it costs.
func TestBuilder(t *testing.T) {
	w := newWorld(t, withHostile...)
	b := newBrowser(t, w)
	b.login("alice")
	b.open("/build")
	b.accessible("build")
	b.press("#table", "patients")
	b.click("button.main")
	b.await("#measure")
	b.press("#measure", "average of age")
	b.press("#group", "ward")
	b.press("#date", "admitted")
	b.press("#period", "year")
	b.press("#filter", "smoker")
	b.press("#value", "true")
	b.press("#value", kb.Enter)
	const want = "SELECT date_trunc('year', admitted)::date AS year, ward, avg(age)\nFROM patients\nWHERE smoker = 'true'\nGROUP BY 1, 2\nORDER BY 1, 2"
	b.until("the question is there in SQL", func() bool { return b.text("#made pre") == want })
	b.accessible("build, chosen")
	b.scheme("dark")
	b.accessible("build, dark")
	b.picture("build-dark")
	b.phone()
	b.narrow("build")
	b.picture("build-phone")
	b.desk()
	b.scheme("light")
	b.click("#made button")
	b.await("#ask")
	b.until("it stands in the editor", func() bool {
		return strings.ReplaceAll(b.value("#sql"), "\r", "") == want
	})
	b.await("#dryrun .part")
	if spent := w.spent("alice"); spent != 0 {
		t.Errorf("building was charged %g", spent)
	}
	b.silent()

	// names and values are quoted; what is in no list is not taken
	v := w.visitor().login("bob")
	made := func(fields ...string) string {
		q := url.Values{"table": {"<img src=x onerror=alert(1)>"}}
		for i := 0; i < len(fields); i += 2 {
			q.Set(fields[i], fields[i+1])
		}
		_, rest, _ := strings.Cut(v.do("/build?"+q.Encode(), nil).body, "<pre>")
		sql, _, _ := strings.Cut(rest, "</pre>")
		return sql
	}
	if got := made("group", `"<script>alert('name')</script>"`, "filter", "age", "value", "1' OR 'a' = 'a"); strings.Contains(got, "<script") ||
		!strings.Contains(got, "&#34;&lt;script&gt;alert(&#39;name&#39;)&lt;/script&gt;&#34;") || !strings.Contains(got, "&#39;1&#39;&#39; OR &#39;&#39;a&#39;&#39; = &#39;&#39;a&#39;") {
		t.Error(got)
	}
	if got := made("measure", "pg_sleep(9)", "group", "1; DROP", "operator", "OR", "period", "x'", "date", "y", "filter", "z"); got != "SELECT count(*)\nFROM &#34;&lt;img src=x onerror=alert(1)&gt;&#34;" {
		t.Error(got)
	}
}
