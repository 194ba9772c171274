package console_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// mostBytes bounds what the page to ask on loads, scripts and all.
const mostBytes = 500 << 10

// TestPersonsProtocol: what a person does on a first day, step by step, at three widths. How long the steps take is
// logged; what the page loads is bounded.
func TestPersonsProtocol(t *testing.T) {
	w := newWorld(t)
	b := newBrowser(t, w)
	began := time.Now()
	step := func(name string) {
		t.Helper()
		t.Logf("%-10s %5.1f s", name, time.Since(began).Seconds())
		b.everyWidth(name)
		began = time.Now()
	}
	b.open("/")
	step("login")
	b.press("#user", "alice")
	b.press("#password", "demo\r")
	b.await("#ask")
	b.until("the page is loaded", func() bool { return eval[string](b, "document.readyState") == "complete" })
	bytes := eval[float64](b, `[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
		.reduce((sum, e) => sum + e.transferSize, 0)`)
	t.Logf("%.0f bytes; one may type after %.0f ms", bytes, eval[float64](b, "performance.getEntriesByType('navigation')[0].domInteractive"))
	if bytes > mostBytes {
		t.Errorf("the page loads %.0f bytes", bytes)
	}
	step("ask")

	b.press("#find", "smok")
	b.until("the column is found", func() bool { return strings.Contains(b.text("#schema"), "smoker") })
	step("schema")

	b.open("/columns")
	step("columns")
	b.open("/build")
	b.press("#table", "patients")
	b.click("button.main")
	b.await("#measure")
	b.press("#group", "ward")
	b.click("button.main")
	b.until("it is there in SQL", func() bool { return strings.Contains(b.text("#made pre"), "GROUP BY 1") })
	step("build")
	b.click("#made button")
	b.await("#ask")
	b.until("it stands in the editor", func() bool { return strings.Contains(b.value("#sql"), "GROUP BY 1") })
	b.await("#dryrun .part")
	b.click("button[value=run]")
	b.await("#outcome .picture svg")
	step("answer")

	save := func(name, with string) string {
		t.Helper()
		b.click("button[value=new]")
		b.await("#name")
		b.press("#name", name)
		if with != "" {
			b.press("#with", with)
		}
		b.click("main button.main")
		b.await("#ask")
		return strings.TrimPrefix(eval[string](b, "location.href"), w.url)
	}
	save("patients by ward", "")
	b.open("/ask")
	b.press("#sql", "SELECT count(*) AS smokers FROM patients WHERE smoker")
	b.await("#dryrun .part")
	step("sql")
	save("smokers", "")
	b.open("/saved")
	step("saved")
	for n := range 2 {
		b.click(fmt.Sprintf(".kept li:nth-child(%d) input[type=checkbox]", n+1))
	}
	b.click("button[form=together]")
	b.until("its price is there", func() bool { return strings.Contains(b.text("#dryrun"), "of your budget for all") })
	b.click("button[value=run]")
	b.await("#outcome .single")
	step("dashboard")
	address := save("ward and smokers", "bob")
	step("shared")

	bob := w.visitor()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	r := bob.do("/login", url.Values{
		"user": {"bob"}, "password": {"demo"}, "of": u.Query()["of"], "id": u.Query()["id"],
	})
	wants(t, "bob's", bob.do(r.Header.Get("Location"), nil).body, "<h1>ward and smokers</h1>", "Saved by alice", "-- patients by ward")

	b.click("button[value=run]")
	b.await("#outcome a[download]")
	csv := eval[string](b, "fetch(document.querySelector('#outcome a[download]').href).then((r) => r.text())")
	wants(t, "csv", csv, "ward,count,count_low,count_high", "general,")
	b.open("/budget")
	step("budget")
	b.open("/history")
	step("history")
	b.open("/help")
	step("help")
	b.silent()
}

// everyWidth holds a page to the width of a desk, a tablet and a telephone.
func (b *browser) everyWidth(name string) {
	b.t.Helper()
	b.picture("state-" + name + "-desk")
	b.run(chromedp.EmulateViewport(820, 1180))
	if wide := eval[int](b, "document.documentElement.scrollWidth"); wide > 820 {
		b.t.Errorf("%s is %d pixels wide on a tablet of 820", name, wide)
	}
	b.picture("state-" + name + "-tablet")
	b.phone()
	b.narrow(name)
	b.picture("state-" + name + "-phone")
	b.desk()
}
