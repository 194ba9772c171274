package main

import (
	"embed"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

//go:embed pagila chinook employee
var files embed.FS

// worlds are the databases, each a folder with a schema and questions, and what makes its rows.
var worlds = []struct {
	name string
	rows func() *rows
}{{"pagila", pagila}, {"chinook", chinook}, {"employee", employee}}

// Kinds of columns. A key tells the rows of an answer apart.
const key = "key"

var kinds = []string{"count", "sum", "avg", "order", "share"}

// question is a statement as an analyst writes it.
type question struct {
	asked   string // in words
	sql     string
	columns []string // the kind of each
	among   string   // has the rows of which some are shown: the statement without HAVING, or without LIMIT
	cut     bool     // LIMIT shows a part of the rows
}

var limit = regexp.MustCompile(`\s+LIMIT \d+$`)

// readQuestions reads a world's questions: blocks of comments, with the question in words and the kinds of its columns,
// and SQL.
func readQuestions(world string) ([]question, error) {
	text, err := files.ReadFile(path.Join(world, "questions.sql"))
	if err != nil {
		return nil, err
	}
	var list []question
	for block := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		var q question
		var sql []string
		for line := range strings.SplitSeq(block, "\n") {
			comment, isComment := strings.CutPrefix(line, "-- ")
			columns, isColumns := strings.CutPrefix(comment, "columns: ")
			among, isAmong := strings.CutPrefix(comment, "among: ")
			switch {
			case !isComment:
				sql = append(sql, line)
			case isColumns:
				q.columns = strings.Fields(columns)
			case isAmong:
				q.among = among
			default:
				q.asked = comment
			}
		}
		q.sql = strings.TrimSuffix(strings.Join(sql, "\n"), ";")
		q.cut = limit.MatchString(q.sql)
		if q.among == "" {
			q.among = limit.ReplaceAllString(q.sql, "")
		}
		unknown := func(kind string) bool { return kind != key && !slices.Contains(kinds, kind) }
		if q.asked == "" || q.sql == "" || slices.ContainsFunc(q.columns, unknown) {
			return nil, fmt.Errorf("%s: what is asked, the kinds of its columns, or SQL: %q", world, block)
		}
		list = append(list, q)
	}
	return list, nil
}
