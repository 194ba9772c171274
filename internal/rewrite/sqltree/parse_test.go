package sqltree_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

func TestParseSplits(t *testing.T) {
	for text, want := range map[string][]sqltree.Statement{
		"":                         nil,
		" -- only a comment\n":     nil,
		";;":                       nil,
		"SELECT 1":                 {{SQL: "SELECT 1"}},
		"SELECT 1;":                {{SQL: "SELECT 1"}},
		"SELECT 'é;'; SELECT 2 ; ": {{SQL: "SELECT 'é;'"}, {SQL: " SELECT 2 ", Offset: 12}},
	} {
		got, err := sqltree.Parse(text, 32768)
		if err != nil || len(got) != len(want) {
			t.Errorf("%q: %d statements, %v; want %d", text, len(got), err, len(want))
			continue
		}
		for i, s := range got {
			if s.SQL != want[i].SQL || s.Offset != want[i].Offset {
				t.Errorf("%q: statement %d is %q at %d, want %q at %d", text, i, s.SQL, s.Offset, want[i].SQL, want[i].Offset)
			}
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		sql, code string
		position  int32
	}{
		"syntax":             {"SELECT 'é', +", "42601", 14},
		"too large":          {"SELECT " + strings.Repeat(" ", 32768), "54000", 0},
		"50 KB of additions": {"SELECT a" + strings.Repeat("+a", 25000), "54000", 0},
		"additions":          {"SELECT a" + strings.Repeat("+a", 15000), "54001", 0},
		"casts":              {"SELECT a" + strings.Repeat("::int", 6000), "54001", 0},
		"unions":             {"SELECT 1" + strings.Repeat(" UNION SELECT 1", 2000), "54001", 0},
		"negations":          {"SELECT " + strings.Repeat("NOT ", 7000) + "true", "54001", 0},
		"parentheses":        {"SELECT " + strings.Repeat("(", 5000) + "1" + strings.Repeat(")", 5000), "54001", 0},
		"subqueries":         {strings.Repeat("SELECT (", 1500) + "1" + strings.Repeat(")", 1500), "54001", 0},
		"cases": {
			"SELECT " + strings.Repeat("CASE WHEN true THEN ", 1000) + "1" + strings.Repeat(" END", 1000),
			"54001", 0,
		},
		"brackets":     {"SELECT " + strings.Repeat("ARRAY[", 4000) + "1" + strings.Repeat("]", 4000), "54001", 0},
		"tokens":       {"SELECT 1" + strings.Repeat(",1", 13000), "54001", 0},
		"comments":     {"SELECT " + strings.Repeat("/*", 16000) + "1", "54001", 0},
		"UTF-8":        {"SELECT '\xff'", "22021", 0},
		"NUL":          {"SELECT 1\x00; DROP TABLE patients", "22021", 0},
		"unterminated": {"SELECT 'a", "42601", 8},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := sqltree.Parse(c.sql, 32768)
			var pe *pgconn.PgError
			if !errors.As(err, &pe) || pe.Code != c.code || pe.Position != c.position {
				t.Errorf("got %v, want %s at %d", err, c.code, c.position)
			}
		})
	}
}

func TestExplain(t *testing.T) {
	for sql, want := range map[string]sqltree.Explain{
		"SELECT 1":                             {},
		"EXPLAIN SELECT 1":                     {Inner: &sqltree.Statement{SQL: "SELECT 1", Offset: 8}},
		"explain (select 1)":                   {Inner: &sqltree.Statement{SQL: "(select 1)", Offset: 8}},
		"EXPLAIN /* ü */ VERBOSE SELECT 1":     {Inner: &sqltree.Statement{SQL: "SELECT 1", Offset: 24}, Verbose: true},
		"EXPLAIN (VERBOSE 0) SELECT 1":         {Inner: &sqltree.Statement{SQL: "SELECT 1", Offset: 20}},
		"EXPLAIN (FORMAT JSON) SELECT 1":       {Inner: &sqltree.Statement{SQL: "SELECT 1", Offset: 22}, JSON: true},
		"EXPLAIN (ANALYZE off) SELECT 1":       {Inner: &sqltree.Statement{SQL: "SELECT 1", Offset: 22}},
		"EXPLAIN ANALYZE SELECT 1":             {Inner: &sqltree.Statement{SQL: "SELECT 1", Offset: 16}, Analyze: true},
		"EXPLAIN (ANALYZE, COSTS off) TABLE x": {Inner: &sqltree.Statement{SQL: "TABLE x", Offset: 29}, Analyze: true},
	} {
		s, err := sqltree.Parse(sql, 32768)
		if err != nil {
			t.Fatal(err)
		}
		got := s[0].Explain()
		if want.Inner == nil {
			if got != nil {
				t.Errorf("%q is no EXPLAIN", sql)
			}
			continue
		}
		if got == nil || got.Inner.SQL != want.Inner.SQL || got.Inner.Offset != want.Inner.Offset || got.JSON != want.JSON ||
			got.Verbose != want.Verbose || got.Analyze != want.Analyze {
			t.Errorf("%q: got %+v of %+v", sql, got, got.Inner)
		}
	}
}
