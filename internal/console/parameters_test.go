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
