package console_test

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
)

// question is what the pictures show.
const question = "SELECT ward, count(*) AS patients FROM patients WHERE smoker GROUP BY ward ORDER BY patients DESC"

// TestADayAtTheConsole walks through every page, as analyst and as administrator, on a desk and on a telephone.
func TestADayAtTheConsole(t *testing.T) {
	w := newWorld(t, "\nanalysts:\n", `
groups:
  researchers: {budget: {epsilon: 10, delta: 1e-6, every: 30d}}
  students: {budget: {epsilon: 2, delta: 1e-7}}
analysts:
  carol: {group: students, `+aliceLogin+"}\n")
	b := newBrowser(t, w)
	b.open("/")
	b.picture("login")
	b.accessible("login")
	b.press("#user", "alice")
	b.press("#password", "wrong\r")
	b.await(".bad")
	b.login("alice")

	t.Run("the dry run comes as one types, and is free", func(t *testing.T) {
		before := w.spent("alice")
		b.press("#sql", question)
		b.await("#dryrun .density svg")
		wants(t, "dry run", b.text("#dryrun"), "ε 0.5", "±", "95 %", "never leaves [0, 1000000]", "At another price")
		wide := margin(b)
		b.press("#step", kb.ArrowRight+kb.ArrowRight)
		b.until("the slider narrows the margin", func() bool {
			return strings.Contains(b.text("#dryrun"), "ε 1") &&
				margin(b) < wide
		})
		wants(t, "price", b.text("#epsilon"), "ε 1")
		b.press("#step", kb.ArrowLeft+kb.ArrowLeft)
		b.press("#margin", "50")
		b.until("a margin has a price", func() bool {
			return !strings.Contains(b.text("#dryrun .price"), "ε 0.5") &&
				margin(b) > wide
		})
		b.press("#margin", kb.Backspace+kb.Backspace)
		b.until("without one the policy decides", func() bool { return strings.Contains(b.text("#dryrun .price"), "ε 0.5") })
		if after := w.spent("alice"); after != before {
			t.Errorf("dry runs were charged: %g", after)
		}
	})

	t.Run("an answer has a chart with error bars, and is free the second time", func(t *testing.T) {
		b.control("#sql")
		b.await("#outcome .picture svg")
		wants(t, "answer", b.text("#outcome"), "spent", "patients by ward", "general")
		if bars, errors := eval[int](b, "document.querySelectorAll('#outcome g[data-mark=bar] rect').length"),
			eval[int](b, "document.querySelectorAll('#outcome g[data-mark=rule] line').length"); bars < 8 || errors != bars+1 {
			t.Errorf("%d bars, %d lines of error bars", bars, errors)
		}
		spent := w.spent("alice")
		if spent == 0 {
			t.Error("nothing was charged")
		}
		b.until("the dry run says that the answer is kept",
			func() bool { return strings.Contains(b.text("#dryrun"), "the answer is kept") })
		b.press("#step", kb.ArrowRight)
		b.until("another price is not", func() bool { return strings.Contains(b.text("#dryrun"), "ε 0.7") })
		b.picture("ask")
		b.scheme("dark")
		b.picture("ask-dark")
		b.phone()
		b.picture("ask-phone")
		b.desk()
		b.scheme("light")
		b.press("#step", kb.ArrowLeft)
		b.click("button[value=run]")
		b.until("it is asked again", func() bool {
			return strings.Contains(b.text("#outcome"), "nothing spent")
		})
		if again := w.spent("alice"); again != spent {
			t.Errorf("%g was spent, and %g by asking again", spent, again)
		}
	})
	b.accessible("ask")
	b.scheme("dark")
	b.accessible("ask, dark")
	b.phone()
	b.narrow("ask")
	for _, page := range []string{"columns", "budget", "history", "help"} {
		b.open("/" + page)
		b.narrow(page)
		b.accessible(page + ", dark")
		if page == "budget" {
			b.picture("budget-phone")
		}
	}
	b.desk()
	b.open("/columns")
	b.picture("columns-dark")
	b.scheme("light")
	b.accessible("columns")

	t.Run("a first question is asked by its button", func(t *testing.T) {
		b.click("section.table tbody tr:nth-child(8) .chip") // admitted, by year
		b.await("#dryrun .part")
		b.click("button[value=run]")
		b.await("#outcome g[data-mark=line] path")
		wants(t, "answer", b.text("#outcome"), "count by year")
		b.open("/ask")
		b.press("#sql", "SELECT ward, avg(age), avg(income) FROM patients GROUP BY 1 ORDER BY 2 DESC")
		b.await("#dryrun .part")
		b.click("button[value=run]")
		b.await("#outcome .picture svg")
		wants(t, "answer", b.text("#outcome"), "95 %", " … ")
		if widths := eval[int](
			b, `new Set([...document.querySelectorAll('#outcome g[data-mark=rule] line')]
			.map(e => (e.getAttribute('x2') - e.getAttribute('x1')).toFixed(2))).size`); widths < 5 {
			t.Errorf("the error bars of 10 wards have %d widths: each ward has its own", widths)
		}
		b.picture("ask-intervals")
		b.open("/ask")
		b.press("#sql", "SELECT count(*), avg(age) FROM patients")
		b.click("button[value=run]")
		b.await("#outcome .single")
	})
	b.open("/budget")
	wants(t, "budget", b.text("main"), "% left", "% spent", "guarantee ε 20", "The period ends on",
		"What your questions took")
	b.picture("budget")
	b.accessible("budget")
	b.open("/history")
	wants(t, "history", b.text("main"), question, "SELECT count(*), avg(age) FROM patients", "%")
	b.picture("history")
	b.accessible("history")
	b.click("form.who button")
	b.await("#user")
	b.open("/ask")
	b.await("#user")

	b.loginDBA()
	wants(t, "overview", b.text("main"), "alice", "bob", "all together", "answered from private rows", "dry runs",
		"wrong password", "shadow")
	if strings.Contains(eval[string](b, "document.documentElement.outerHTML"), "SELECT") {
		t.Error("the administrator sees what an analyst asked")
	}
	b.picture("dba")
	b.accessible("overview")
	b.open("/dba/policy")
	b.click("main form button")
	b.await(".good")
	wants(t, "policy", b.text("main"), "No problem.", "public.patients", "rdp", "password", "carol", "students",
		"researchers", "Each analyst of a group")
	for _, secret := range []string{"SCRAM-SHA-256$", "postgres://"} {
		if strings.Contains(eval[string](b, "document.documentElement.outerHTML"), secret) {
			t.Errorf("the policy's page has %s", secret)
		}
	}
	b.picture("policy")
	b.accessible("policy")
	b.phone()
	b.narrow("policy")
	b.open("/dba")
	b.narrow("overview")
	b.silent()
}

// margin reads the first margin of the dry run.
func margin(b *browser) int {
	return eval[int](
		b, `parseInt((document.querySelector('#dryrun .margin') || {textContent: '±0'}).textContent.replace('±', ''))`)
}

// until waits for something to become true.
func (b *browser) until(what string, holds func() bool) {
	b.t.Helper()
	for range 400 {
		if holds() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	b.t.Fatalf("not so: %s\n%s", what, b.text("main"))
}
