package console

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	pg_query "github.com/pganalyze/pg_query_go/v6"
)

// scanned is where the wire's scanner ends statements, and finds a colon with a name behind it, in bytes; ok is false
// for a text that it cannot read.
func scanned(sql string) (ends, names []int, ok bool) {
	result, err := pg_query.Scan(sql)
	if err != nil {
		return nil, nil, false
	}
	for _, t := range result.Tokens {
		switch at := int(t.Start); t.Token {
		case pg_query.Token_ASCII_59:
			ends = append(ends, at)
		case pg_query.Token_ASCII_58:
			if nameOf(sql[at+1:]) != "" {
				names = append(names, at)
			}
		}
	}
	return ends, names, true
}

// skimmed is the same, as questions are split and bound.
func skimmed(sql string) (ends, names []int) {
	for at := 0; at < len(sql); {
		n := skipped(sql[at:])
		switch {
		case n > 0:
		case sql[at] == ';':
			ends = append(ends, at)
		case sql[at] == ':' && nameOf(sql[at+1:]) != "":
			names = append(names, at)
		}
		at += max(n, 1)
	}
	return ends, names
}

// FuzzSplit: questions are split, and names found, where the wire's scanner, pg_query, does. A text that it cannot read
// is refused, however it is split.
func FuzzSplit(f *testing.F) {
	for _, sql := range []string{
		"SELECT 1; SELECT 2", "SELECT ';'; SELECT \";\"", `SELECT E'a\';:x'; SELECT 'a\'; :x`, "SELECT $$;$$; SELECT $a$;$$;$a$",
		"/* ; /* ; */ ; */ SELECT 1; -- ;\nSELECT :ward", "SELECT 'a'\n';:x'; SELECT :x", "SELECT E'a'\n'b\\';:x'; SELECT :x",
		"SELECT E'a''b\\';:x'; SELECT :x", "SELECT E'a' --\n'b\\';:x;", "SELECT U&'\\0041;'; SELECT U&\"d;\" UESCAPE '!'",
		"SELECT B'0;', X'1;', N';'", "SELECT a::text, b[1:n], f(x := :y)", "SELECT 1e'a\\';:x'", "SELECT a--b\n;c", "SELECT 1 -- a\r;:x",
		"SELECT a/*b*/;c", "SELECT +-- ;\n1", "SELECT a$b$;c$b$", "SELECT $1$a$;$a$, 0$a$;$a$", "SELECT é$$;$$", "SELECT \u2003$$;$$",
		"SELECT 0x1F;1_000;1.5e3;:x", "SELECT '' '';:x", "SELECT 'a''b;';", "SELECT 'a'/* c */\n'b;'",
	} {
		f.Add(sql)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		if !utf8.ValidString(sql) || strings.ContainsRune(sql, 0) {
			return // the wire takes neither
		}
		ends, names, ok := scanned(sql)
		if !ok {
			return
		}
		if e, n := skimmed(sql); !slices.Equal(e, ends) || !slices.Equal(n, names) {
			t.Errorf("%q: ends %v, names %v, want %v and %v", sql, e, n, ends, names)
		}
	})
}
