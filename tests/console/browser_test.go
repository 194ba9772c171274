package console_test

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// browser is a headless Chromium.
type browser struct {
	t   *testing.T
	w   *world
	ctx context.Context
	// said is what pages wrote to the console of the browser: scripts and styles that it refused among it.
	said *lines
}

func newBrowser(t *testing.T, w *world) *browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("chromium is missing: tests/integration/install.sh installs it")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.NoFirstRun, chromedp.IgnoreCertErrors,
		chromedp.UserDataDir(t.TempDir()), chromedp.Flag("disable-gpu", true), chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true))
	allocated, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(allocated)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 3*time.Minute)
	t.Cleanup(cancel)
	b := &browser{t, w, ctx, &lines{}}
	// the browser lives as long as the first context
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		t.Fatal(err)
	}
	messages, dialogs := chromedp.Console(ctx), chromedp.Events(ctx, page.JavascriptDialogOpening)
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			if unauthorized := strings.Contains(m.String(), "status of 401"); !unauthorized &&
				(m.Type == chromedp.ConsoleError || m.IsException()) {
				b.said.Write([]byte(m.String() + "\n"))
			}
		}
	}()
	go func() {
		for d, err := range dialogs {
			if err != nil {
				return
			}
			b.said.Write([]byte("dialog: " + d.Message + "\n"))
			if _, err := chromedp.Call(ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true}); err != nil {
				return
			}
		}
	}()
	b.desk()
	return b
}

func (b *browser) run(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 40*time.Second)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		html, _ := chromedp.Run(b.ctx, chromedp.OuterHTML(chromedp.CSS("html")))
		b.t.Fatalf("%v\n%s\n%s", err, short(html), b.said)
	}
}

// open goes to a page of the console.
func (b *browser) open(path string) {
	b.t.Helper()
	b.run(chromedp.Navigate(b.w.url+path), chromedp.WaitReady(chromedp.CSS("#main")))
}

// await waits until an element is seen.
func (b *browser) await(selector string) {
	b.t.Helper()
	b.run(chromedp.WaitVisible(chromedp.CSS(selector)))
}

// press types into an element.
func (b *browser) press(selector, keys string) {
	b.t.Helper()
	if selector == "#sql" && b.edits() {
		b.run(chromedp.KeyEvent(keys))
		return
	}
	b.run(chromedp.SendKeys(chromedp.CSS(selector), keys))
}

// edits gives the focus to the editor; false: there is none in the place of the field.
func (b *browser) edits() bool {
	b.t.Helper()
	return eval[bool](b, "(() => { const there = !!document.querySelector('#editor'); if (there) document.querySelector('#sql').focus(); return there; })()")
}

// quiet waits until nothing is being looked up.
func (b *browser) quiet() {
	b.t.Helper()
	b.until("nothing is looked up", func() bool { return eval[bool](b, "!document.querySelector('[aria-busy]')") })
	b.run(chromedp.Sleep(300 * time.Millisecond)) // what was pale is not, by and by
}

// inEditor gives what an expression on the editor's shadow root, called root, is.
func inEditor[T any](b *browser, expression string) T {
	b.t.Helper()
	return eval[T](b, "(root => "+expression+")(document.querySelector('#editor').shadowRoot)")
}

// tab presses the key as a person does, who does not say on what.
func (b *browser) tab() {
	b.t.Helper()
	b.run(chromedp.KeyEvent(kb.Tab))
}

// control presses Ctrl+Enter in an element.
func (b *browser) control(selector string) {
	b.t.Helper()
	if selector != "#sql" || !b.edits() {
		b.run(chromedp.Focus(chromedp.CSS(selector)))
	}
	b.run(chromedp.KeyEvent("\r", chromedp.KeyModifiers(kb.ModifierCtrl)))
}

func (b *browser) click(selector string) {
	b.t.Helper()
	b.run(chromedp.Click(chromedp.CSS(selector)))
}

func (b *browser) login(user string) {
	b.t.Helper()
	b.open("/login")
	b.press("#user", user)
	b.press("#password", "demo\r")
	b.await("#ask")
	b.run(chromedp.WaitReady(chromedp.CSS("#outcome")))
	b.until("the page is loaded", func() bool { return eval[string](b, "document.readyState") == "complete" })
}

func (b *browser) loginDBA() {
	b.t.Helper()
	b.open("/dba/login")
	b.press("#token", b.w.token()+"\r")
	b.await("main.dba table")
}

// text reads what an element shows; empty where there is none.
func (b *browser) text(selector string) string {
	b.t.Helper()
	return eval[string](b, fmt.Sprintf("(document.querySelector(%q) || {innerText: ''}).innerText", selector))
}

// eval runs a script of the test's in the page: in the next one, where it meets one that is being left.
func eval[T any](b *browser, script string) T {
	b.t.Helper()
	for again := 40; ; again-- {
		v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
		switch {
		case err == nil:
			return v
		case again == 0 || !leaving.MatchString(err.Error()):
			b.t.Fatalf("%v\n%s", err, script)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

var leaving = regexp.MustCompile("navigated or closed|context was destroyed|Cannot find context")

// scheme makes the browser prefer a colour scheme.
func (b *browser) scheme(name string) {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
	}); err != nil {
		b.t.Fatal(err)
	}
}

// phone gives the browser's window the size of a telephone's.
func (b *browser) phone() {
	b.t.Helper()
	b.run(chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile))
}

func (b *browser) desk() {
	b.t.Helper()
	b.run(chromedp.EmulateViewport(1180, 860))
}

// silent fails where a page raised an error or a dialog, or holds something that the content policy refuses.
func (b *browser) silent() {
	b.t.Helper()
	if said := b.said.String(); strings.TrimSpace(said) != "" {
		b.t.Errorf("the browser said:\n%s", said)
	}
}
