package sqltree

import (
	"regexp"
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"
)

// clockWords are what PostgreSQL reads as a time that depends on the clock, in a literal of dates and times.
var clockWords = regexp.MustCompile(`(?i)now|today|tomorrow|yesterday`)

// clockTexts are what may read the clock in SQL that dpproxy prints, or in a value.
var clockTexts = regexp.MustCompile(`(?i)now|today|tomorrow|yesterday|current_|localtime|_timestamp|timeofday|\bage\b`)

// MayReadClock reports whether an expression as dpproxy prints it, or a value of any type, may mean something else at
// another time.
func MayReadClock(text string) bool { return clockTexts.MatchString(text) }

// clockFunctions read the clock, beside the keywords of the grammar.
var clockFunctions = []string{"now", "clock_timestamp", "statement_timestamp", "transaction_timestamp", "timeofday"}

// ReadsClock reports whether a tree may mean something else at another time.
func ReadsClock(n *pg_query.Node) bool {
	found := false
	Visit(n, func(n *pg_query.Node) bool {
		switch v := n.GetNode().(type) {
		case *pg_query.Node_SqlvalueFunction:
			found = true
		case *pg_query.Node_FuncCall:
			name := FunctionName(v.FuncCall)
			found = found || slices.Contains(clockFunctions, name) || name == "age" && len(v.FuncCall.Args) == 1
		case *pg_query.Node_AConst:
			found = found || clockWords.MatchString(v.AConst.GetSval().GetSval())
		}
		return !found
	})
	return found
}
