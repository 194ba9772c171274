package command

import (
	"strings"
	"unicode/utf8"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
)

func prepare(p *pg_query.PrepareStmt, sql string) Command {
	inner, offset, ok := after(sql, pg_query.Token_AS)
	if !ok {
		return Refused{pgerr.New(pgerr.SyntaxError, "PREPARE without its statement")}
	}
	c := Prepare{Name: p.Name, SQL: inner, Offset: offset}
	for _, n := range p.Argtypes {
		t := n.GetTypeName()
		names := t.GetNames()
		if len(names) == 0 || t.GetSetof() || t.GetPctType() {
			return Refused{pgerr.New(pgerr.FeatureNotSupported, "PREPARE takes plain type names")}
		}
		c.Types = append(c.Types, Type{
			Name: names[len(names)-1].GetString_().GetSval(), Array: len(t.ArrayBounds) > 0,
			At: utf8.RuneCountInString(sql[:max(0, min(int(t.Location), len(sql)))]) + 1,
		})
	}
	return c
}

func execute(e *pg_query.ExecuteStmt, sql string) Command {
	c := Execute{Name: e.Name}
	for _, p := range e.Params {
		text, ok := constant(p)
		if !ok {
			return computed(e.Name, sql)
		}
		c.Args = append(c.Args, text)
	}
	return c
}

// computed is EXECUTE whose arguments are expressions: of constants and functions, as PostgreSQL allows.
func computed(name, sql string) Command {
	refused := Refused{pgerr.New(pgerr.FeatureNotSupported,
		"EXECUTE takes constants and what can be computed from constants",
		pgerr.Hint("Write the values themselves, or bind parameters to the prepared statement through the driver."))}
	scan, err := pg_query.Scan(sql)
	if err != nil {
		return refused
	}
	open, end := 0, 0
	for _, t := range scan.Tokens {
		switch t.Token {
		case pg_query.Token_SELECT, pg_query.Token_VALUES, pg_query.Token_TABLE, pg_query.Token_PARAM:
			return refused
		case pg_query.Token_ASCII_40:
			if open == 0 {
				open = int(t.End)
			}
		case pg_query.Token_ASCII_41:
			end = int(t.Start)
		}
	}
	if open == 0 || end < open || end > len(sql) {
		return refused
	}
	const word = "SELECT"
	blanks := utf8.RuneCountInString(sql[:open]) - len(word) // EXECUTE is longer
	return Execute{Name: name, Query: word + strings.Repeat(" ", blanks) + sql[open:end]}
}

// after returns the text behind the first occurrence of a keyword outside parentheses, and the number of characters
// before it: the trees of PREPARE and DECLARE hold their statement without saying where it begins. The keyword is
// reserved in both grammars, so the first one is the right one.
func after(sql string, keyword pg_query.Token) (inner string, offset int, ok bool) {
	scan, err := pg_query.Scan(sql)
	if err != nil {
		return "", 0, false
	}
	depth := 0
	for _, t := range scan.Tokens {
		switch t.Token {
		case pg_query.Token_ASCII_40:
			depth++
		case pg_query.Token_ASCII_41:
			depth--
		case keyword:
			if depth == 0 && int(t.End) <= len(sql) {
				rest := sql[t.End:]
				trimmed := strings.TrimLeft(rest, " \t\r\n\f\v")
				start := len(sql) - len(trimmed)
				return trimmed, utf8.RuneCountInString(sql[:start]), true
			}
		}
	}
	return "", 0, false
}
