package console_test

import (
	"os"
	"strings"
	"testing"
)

// axe is axe-core, which the tests alone have. The browser runs it as its own script, which the content policy does not
// reach.
func axe(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile("node_modules/axe-core/axe.min.js")
	if err != nil {
		t.Fatalf("%v: tests/integration/install.sh installs it", err)
	}
	return string(text)
}

// accessible fails for what axe-core finds in the page as it is: labels, contrast, headings, landmarks, keyboard.
func (b *browser) accessible(page string) {
	b.t.Helper()
	eval[bool](b, axe(b.t)+"; true")
	found := eval[[]string](b, `(async () => (await axe.run(document, {resultTypes: ['violations']})).violations
		.flatMap(v => v.nodes.map(n => v.id + ': ' + n.html + ' ' + (n.failureSummary || ''))))()`)
	if len(found) > 0 {
		b.t.Errorf("%s: %s", page, strings.Join(found, "\n"))
	}
}

// narrow fails where a page is wider than a telephone.
func (b *browser) narrow(page string) {
	b.t.Helper()
	if width := eval[int](b, "document.documentElement.scrollWidth"); width > 390 {
		b.t.Errorf("%s is %d pixels wide on a telephone of 390", page, width)
	}
}

// TestTheKeyboardReachesEverything: Tab goes from the skip link through every control, and each shows that it has the
// focus.
func TestTheKeyboardReachesEverything(t *testing.T) {
	b := newBrowser(t, newWorld(t))
	b.login("alice")
	seen := map[string]bool{}
	eval[bool](b, "document.activeElement.blur(); true")
	for range 32 {
		b.tab()
		seen[eval[string](
			b, "document.activeElement.id || document.activeElement.className || document.activeElement.textContent")] = true
		if !eval[bool](
			b,
			`(() => { const s = getComputedStyle(document.activeElement); return document.activeElement === document.body || s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2; })()`) {
			t.Errorf("no focus is shown on %s", eval[string](b, "document.activeElement.outerHTML"))
		}
	}
	for _, want := range []string{"skip", "brand", "Ask", "Budget", "quiet", "find", "editor", "chip", "step", "margin", "main"} {
		if !seen[want] {
			t.Errorf("Tab does not reach %s; it reaches %v", want, seen)
		}
	}
}
