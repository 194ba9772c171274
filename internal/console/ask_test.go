package console

import "testing"

// TestHarmless: what a spreadsheet would run begins with an apostrophe, whatever stands before its sign; other texts
// stay as they are.
func TestHarmless(t *testing.T) {
	for _, formula := range []string{
		"=1", "+1", "-1", "@SUM(1)", " =1", "  \u00a0=1", "\n=1", "\r\n+1", "\t@a", "\tx", "\rx", "\nx",
		"＝1", "＋1", "－1", "−1", "＠a", " \u3000＝1", "\ufeff=1", "\u200b=1", "\x00=1",
	} {
		if got := harmless(formula); got != "'"+formula {
			t.Errorf("%q stays %q", formula, got)
		}
	}
	for _, text := range []string{"", " ", "a=1", " a", "\u3000", "O'Hara", "e-mail", "ß＝1"} {
		if got := harmless(text); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}
