package console_test

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// TestWithoutScripts: forms and links alone ask, show what it costs, answer, and lead to every page.
func TestWithoutScripts(t *testing.T) {
	w := newWorld(t)
	b := newBrowser(t, w)
	if _, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{
		Value: true,
	}); err != nil {
		t.Fatal(err)
	}
	b.login("alice")
	b.click("#ask .chip")
	b.until("a first question stands in the editor", func() bool { return strings.Contains(b.value("#sql"), "SELECT") })
	if dry := b.text("#dryrun"); strings.Contains(dry, "ε 0.5") {
		t.Fatalf("scripts run: %s", dry)
	}

	b.open("/ask")
	b.press("#sql", question)
	b.click("#price")
	b.await("#dryrun .density svg")
	wants(t, "dry run", b.text("#dryrun"), "ε 0.5", "95 %", "At another price")
	if spent := w.spent("alice"); spent != 0 {
		t.Errorf("a dry run was charged %g", spent)
	}
	b.click("button[value=run]")
	b.await("#outcome .bars")
	wants(t, "answer", b.text("#outcome"), "spent", "patients by ward", "general", "CSV")
	wants(t, "the question, to copy", b.value("#script"), question)
	if b.shown("[data-copy]") || b.shown("#stop") {
		t.Error("there are buttons that do nothing without scripts")
	}
	if at := eval[string](b, "location.hash"); at != "#outcome" {
		t.Errorf("the page is at %q, and not at its answer", at)
	}
	b.picture("ask-plain")
	if w.spent("alice") == 0 {
		t.Error("the answer was not charged")
	}
	b.press("#margin", "4") // a wider one than the answer has is free
	b.click("#price")
	b.until("a margin has a price", func() bool { return strings.Contains(b.text("#dryrun"), "±4") })

	for page, text := range map[string]string{
		"/budget": "Latest", "/history": question, "/columns": "patients",
		"/help": "rows-are-never-returned",
	} {
		b.click(`nav a[href="` + page + `"]`)
		b.until(page+" is there", func() bool { return strings.Contains(b.text("main"), text) })
	}
	b.open("/history")
	b.click("button[value=open]")
	b.until("a question of before stands in the editor", func() bool { return b.value("#sql") == question })
	b.click("form.who button")
	b.await("#user")
	b.silent()
}

// value is what stands in a field.
func (b *browser) value(selector string) string {
	b.t.Helper()
	return eval[string](b, "(document.querySelector('"+selector+"') || {value: ''}).value")
}

// shown reports whether an element is there and seen.
func (b *browser) shown(selector string) bool {
	b.t.Helper()
	return eval[bool](b, "!!(document.querySelector('"+selector+"') || {}).offsetParent")
}
