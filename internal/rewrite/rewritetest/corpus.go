package rewritetest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Query is one query of the corpus. Where its answer differs from PostgreSQL's on purpose, Expected is the statement
// that PostgreSQL answers alike: the block that begins with oracle, behind the query.
type Query struct {
	File, SQL, Expected string
	Params              string // a|b|NULL
	Printed             bool   // marked sql: the corpus holds its SQL for main and for the shadow
}

// Values reads Params; nil is NULL.
func (q Query) Values() []*string {
	if q.Params == "" {
		return nil
	}
	var values []*string
	for _, v := range strings.Split(q.Params, "|") {
		if v == "NULL" {
			values = append(values, nil)
			continue
		}
		values = append(values, &v)
	}
	return values
}

// Corpus reads all queries of a folder of datadriven files.
func Corpus(folder string) ([]Query, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		return nil, err
	}
	var all []Query
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		queries, err := Queries(filepath.Base(f), string(text))
		if err != nil {
			return nil, err
		}
		all = append(all, queries...)
	}
	return all, nil
}

// Queries finds the queries of one datadriven file.
func Queries(file, text string) ([]Query, error) {
	var all []Query
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		if lines[i] != "oracle" && !strings.HasPrefix(lines[i], "query") {
			continue
		}
		at := i
		var sql []string
		for i++; lines[i] != "----"; i++ {
			if lines[i] == "oracle" {
				return nil, fmt.Errorf("%s:%d: the block oracle stands inside of a query: it begins behind the query's verdict",
					file, i+1)
			}
			sql = append(sql, lines[i])
		}
		text := strings.TrimSpace(strings.Join(sql, "\n"))
		if lines[at] == "oracle" {
			all[len(all)-1].Expected = text
			continue
		}
		marks, params, _ := strings.Cut(strings.TrimSuffix(lines[at], ")"), "params=(")
		all = append(all, Query{File: fmt.Sprintf("%s:%d", file, at+1), SQL: text, Params: params, Printed: strings.Contains(
			marks, " sql")})
	}
	return all, nil
}
