package console_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestEditor: names are completed from what the analyst may see, errors stand at their place, and the schema is beside.
func TestEditor(t *testing.T) {
	w := newWorld(t, withHostile...)
	b := newBrowser(t, w)
	b.login("alice")
	popup := func() string {
		return inEditor[string](b, "(root.querySelector('.cm-tooltip-autocomplete') || {innerText: ''}).innerText")
	}
	completes := func(texts ...string) {
		t.Helper()
		b.until("completed is "+texts[0], func() bool { return strings.Contains(popup(), texts[0]) })
		wants(t, "completion", popup(), texts...)
	}
	b.press("#sql", "SELECT avg(p.inc")
	if shown := popup(); strings.Contains(shown, "income") {
		t.Errorf("a table that is not named is completed: %s", shown)
	}
	b.press("#sql", kb.Backspace+kb.Backspace+kb.Backspace+kb.Backspace+kb.Backspace+"inc")
	completes("income", "numeric", "patients")
	b.until("what is known of the column stands beside", func() bool {
		return strings.Contains(inEditor[string](b, "(root.querySelector('.cm-completionInfo') || {innerText: ''}).innerText"),
			"bounds 0 … 500000")
	})
	b.picture("editor")
	b.run(chromedp.Sleep(150 * time.Millisecond)) // a completion that has just come is not taken
	b.enter()
	b.press("#sql", ") FROM patients p WHERE p.war")
	completes("ward")
	b.press("#sql", kb.Escape+"d = 1")
	b.until("the text is the form's", func() bool {
		return b.value("#sql") == "SELECT avg(income) FROM patients p WHERE p.ward = 1"
	})
	b.until("the error is underlined at its place", func() bool {
		return inEditor[string](b, "[...root.querySelectorAll('.cm-lintRange-error')].map(e => e.innerText).join('')") == "="
	})
	b.run(chromedp.KeyEvent(kb.F8))
	b.until("F8 says which it is", func() bool {
		return strings.Contains(inEditor[string](b, "(root.querySelector('.cm-tooltip') || {innerText: ''}).innerText"), "text = integer")
	})
	b.quiet()
	b.accessible("editor with an error")
	b.scheme("dark")
	b.accessible("editor with an error, dark")
	b.picture("editor-error-dark")
	b.scheme("light")
	if keyword := inEditor[string](b, "getComputedStyle(root.querySelector('.cm-line span')).fontWeight"); keyword != "600" {
		t.Errorf("SELECT has weight %s", keyword)
	}

	b.open("/ask")
	b.press("#find", "onerror")
	tables := eval[[]string](b, "[...document.querySelectorAll('#schema [data-table]')].filter(e => e.offsetParent).map(e => e.dataset.table)")
	if len(tables) != 1 || tables[0] != "<img src=x onerror=alert(1)>" {
		t.Errorf("%q", tables)
	}
	b.press("#sql", "SELECT count(*), avg(age) FROM ")
	b.click("#schema [data-table*=onerror] li button")
	b.until("a name is inserted as SQL has it", func() bool {
		return b.value("#sql") == `SELECT count(*), avg(age) FROM "<img src=x onerror=alert(1)>"`
	})
	b.press("#sql", " WHERE scr")
	completes("<script>alert('name')</script>")
	b.run(chromedp.KeyEvent(kb.Escape))
	b.accessible("schema")
	b.phone()
	b.open("/ask")
	b.narrow("ask")
	if eval[bool](b, "document.querySelector('#schema').open") {
		t.Error("the schema is open on a telephone")
	}
	b.picture("editor-phone")
	b.silent()
}

// enter presses the key where what it does is the page's: no character comes of it.
func (b *browser) enter() {
	b.t.Helper()
	for _, half := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeRawKeyDown, input.DispatchKeyEventTypeKeyUp} {
		if _, err := chromedp.Call(b.ctx, input.DispatchKeyEvent, input.DispatchKeyEventParams{
			Type: half, Key: "Enter", Code: "Enter", WindowsVirtualKeyCode: 13,
		}); err != nil {
			b.t.Fatal(err)
		}
	}
}

// TestAssets: browsers load them packed, and once.
func TestAssets(t *testing.T) {
	w := newWorld(t)
	v := w.visitor().login("alice")
	page := v.do("/ask", nil).body
	total := 0
	for _, name := range []string{"style.css", "console.js", "editor.js", "chart.js"} {
		_, address, found := strings.Cut(page, `"/assets/`+name)
		address, _, _ = strings.Cut(address, `"`)
		if !found {
			t.Fatalf("%s is not on the page", name)
		}
		r := v.do("/assets/"+name+address, nil, "Accept-Encoding", "gzip")
		if r.Header.Get("Content-Encoding") != "gzip" || !strings.Contains(r.Header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %v", name, r.Header)
		}
		total += len(r.body)
		if old := v.do("/assets/"+name+"?v=0", nil); old.Header.Get("Cache-Control") != "no-cache" ||
			old.StatusCode != http.StatusOK {
			t.Errorf("%s: %v", name, old.Header)
		}
	}
	if total += len(page); total > 500_000 {
		t.Errorf("the page transfers %d bytes", total)
	}
	t.Logf("%d bytes", total)
}

// TestBundle: what is bundled is what the sources and the lock say.
func TestBundle(t *testing.T) {
	if testing.Short() {
		t.Skip("installs packages")
	}
	from, folder := "../../internal/console", t.TempDir()
	for _, command := range [][]string{
		{"npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"},
		{"node", "build.mjs", folder},
	} {
		c := exec.Command(command[0], command[1:]...)
		c.Dir = filepath.Join(from, "web")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", command, err, out)
		}
	}
	built, err := os.ReadDir(folder)
	if err != nil || len(built) == 0 {
		t.Fatal(built, err)
	}
	for _, f := range built {
		if read(t, filepath.Join(folder, f.Name())) != read(t, filepath.Join(from, "assets", f.Name())) {
			t.Errorf("%s is not what `make web` builds", f.Name())
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
