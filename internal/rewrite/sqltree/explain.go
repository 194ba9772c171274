package sqltree

import (
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"
)

// Explain is an EXPLAIN: its options, and the statement that it asks about.
type Explain struct {
	Inner   *Statement
	JSON    bool
	Verbose bool
	Analyze bool
}

// Explain takes an EXPLAIN apart; nil for any other statement.
func (st *Statement) Explain() *Explain {
	e := st.Node.GetExplainStmt()
	if e == nil {
		return nil
	}
	x := &Explain{Inner: &Statement{Node: e.Query}}
	for _, o := range e.Options {
		d := o.GetDefElem()
		value := strings.ToLower(d.GetArg().GetString_().GetSval())
		on := value != "false" && value != "off" && (d.Arg == nil || d.Arg.GetInteger() == nil ||
			d.Arg.GetInteger().Ival != 0)
		switch d.Defname {
		case "analyze":
			x.Analyze = on
		case "verbose":
			x.Verbose = on
		case "format":
			x.JSON = value == "json"
		}
	}
	// The inner statement's text begins at its first keyword outside the options' parentheses; its locations are made
	// to count from there by parsing it again.
	at := innerStart(st.SQL)
	inner, err := Parse(st.SQL[at:], len(st.SQL))
	if err != nil || len(inner) != 1 {
		x.Inner.SQL = st.SQL
		return x
	}
	x.Inner = inner[0]
	x.Inner.Offset = st.Offset + len([]rune(st.SQL[:at]))
	return x
}

// innerStart finds where the statement inside an EXPLAIN begins.
func innerStart(sql string) int {
	scan, err := pg_query.Scan(sql)
	if err != nil {
		return 0
	}
	depth, seen := 0, false
	for i, t := range scan.Tokens {
		switch t.Token {
		case pg_query.Token_SQL_COMMENT, pg_query.Token_C_COMMENT:
			continue
		case pg_query.Token_EXPLAIN:
			if !seen {
				seen = true
				continue
			}
		case pg_query.Token_ASCII_40:
			if depth > 0 || optionList(scan.Tokens, i) {
				depth++
				continue
			}
		case pg_query.Token_ASCII_41:
			depth--
			continue
		case pg_query.Token_ANALYZE, pg_query.Token_VERBOSE, pg_query.Token_ANALYSE:
			continue
		}
		if depth == 0 {
			return int(t.Start)
		}
	}
	return 0
}

// optionList tells EXPLAIN (options) from EXPLAIN (SELECT …).
func optionList(tokens []*pg_query.ScanToken, open int) bool {
	if open != 1 || len(tokens) < 3 {
		return false
	}
	switch tokens[open+1].Token {
	case pg_query.Token_SELECT, pg_query.Token_WITH, pg_query.Token_VALUES, pg_query.Token_TABLE, pg_query.Token_ASCII_40:
		return false
	}
	return true
}
