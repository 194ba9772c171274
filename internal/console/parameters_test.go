package console

import (
	"fmt"
	"strings"
	"testing"
)

func TestNamesAreBound(t *testing.T) {
	for sql, want := range map[string]string{
		"SELECT :a, :b, :a":              "SELECT $1, $2, $1 [a b]",
		"a = :a::int AND b::text = ':b'": "a = $1::int AND b::text = ':b' [a]",
		`":a" :b`:                        `":a" $1 [b]`,
		"'it''s :a' :b":                  "'it''s :a' $1 [b]",
		`E'\':a' :b`:                     `E'\':a' $1 [b]`,
		`name'\' :b`:                     `name'\' $1 [b]`,
		"-- :a\n:b":                      "-- :a\n$1 [b]",
		"/* :a /* :b */ :c */ :d":        "/* :a /* :b */ :c */ $1 [d]",
		"$$ :a $$ :b $x$ :c $$ $x$":      "$$ :a $$ $1 $x$ :c $$ $x$ [b]",
		"a$b$ :a":                        "a$b$ $1 [a]",
		"x[1:2], x[:n]":                  "x[1:2], x[$1] [n]",
		"a => 1, a := :v, :1":            "a => 1, a := $1, :1 [v]",
		"'open :a":                       "'open :a []",
		"/* open :a":                     "/* open :a []",
		":größe":                         "$1 [größe]",
		"":                               " []",
	} {
		b := bindNames(sql)
		if got := fmt.Sprintf("%s %v", b.SQL, b.Names); got != want {
			t.Errorf("%q: %q, want %q", sql, got, want)
		}
	}
	const sql = "SELECT :größe, :b, here, :größe, there"
	b := bindNames(sql)
	for _, word := range []string{", here", "there"} {
		at := func(text string) int {
			before, _, _ := strings.Cut(text, word)
			return len([]rune(before)) + 1
		}
		if got, want := b.own(at(b.SQL)), at(sql); got != want {
			t.Errorf("%s: at %d, want %d", word, got, want)
		}
	}
}

// TestStatements: a question is split at its semicolons alone; settings hold for what stands behind them.
func TestStatements(t *testing.T) {
	for sql, want := range map[string]string{
		"SELECT 1":                          `["" SELECT 1 [] 0]`,
		" -- why\nSELECT 1;":                `["" SELECT 1 [] 8]`,
		"SELECT ';'; SELECT $$;$$":          `["SELECT ';'" SELECT ';' [] 0] ["SELECT $$;$$" SELECT $$;$$ [] 12]`,
		"-- a;b\nSELECT 1;\n-- ß\nSELECT 2": `["a;b" SELECT 1 [] 7] ["ß" SELECT 2 [] 22]`,
		"SET a = 1; set b = ';'; SELECT 1; RESET  all; SELECT 2; RESET a;": `["SELECT 1" SELECT 1 [SET a = 1 set b = ';'] 24] ["SELECT 2" SELECT 2 [] 46]`,
		"/* ; */ SELECT /* ; */ 1;; ;":                                     `["" SELECT /* ; */ 1 [] 8]`,
		"-- two\nSET a = 1; SELECT 1; SELECT 2":                            `["two" SELECT 1 [SET a = 1] 18] ["SELECT 2" SELECT 2 [SET a = 1] 28]`,
		"SET a = 1":                                                        `["" SET a = 1 [] 0]`,
		"":                                                                 `["" ` + ` [] 0]`,
	} {
		var list []string
		for _, st := range statementsOf(sql) {
			list = append(list, fmt.Sprintf("[%q %s %v %d]", st.Name, st.SQL, st.Sets, st.from))
		}
		if got := strings.Join(list, " "); got != want {
			t.Errorf("%q:\n%s\nwant\n%s", sql, got, want)
		}
	}
}
