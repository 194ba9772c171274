package console

import (
	"bytes"
	"strings"
	"testing"
)

// TestHintsLinkToTheirTopic where they name one.
func TestHintsLinkToTheirTopic(t *testing.T) {
	pages, err := parsePages()
	if err != nil {
		t.Fatal(err)
	}
	for hint, link := range map[string]string{
		"Aggregate them. More: SELECT text FROM dpproxy.help WHERE topic = 'read-only'": `href="/help#read-only"`,
		"Ask a SELECT.": "",
		"":              "",
	} {
		for _, name := range []string{"ask", "fail"} {
			var page bytes.Buffer
			if err := pages[name].ExecuteTemplate(&page, "refusal", refusal{Message: "no", Hint: hint, Help: helpOf(hint)}); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(page.String(), "/help#") != (link != "") || !strings.Contains(page.String(), link) {
				t.Errorf("%q: %s", hint, page.String())
			}
		}
	}
	var page bytes.Buffer
	if err := pages["ask"].ExecuteTemplate(&page, "outcome", &outcome{Hint: "Rows beyond are left out."}); err != nil ||
		!strings.Contains(page.String(), "Rows beyond") {
		t.Errorf("%v: %s", err, page.String())
	}
}
