package main

import (
	"embed"
	"fmt"
	"path"
	"strconv"
	"strings"
)

//go:embed shop clinic tpch
var files embed.FS

// worlds are the folders that hold a schema with data, a policy, and questions.
var worlds = []string{"shop", "clinic", "tpch"}

// question is a statement as an analyst or a dashboard writes it.
type question struct {
	world, intent string
	asked         string // in words
	sql           string
	// necessary says why no answer can be private, where one cannot: the question has to be refused. Empty for all others.
	necessary string
	// near is how far a number may be off: a minimum or maximum stands some rows inside (docs/mechanisms.md, section 9).
	near float64
}

// readQuestions reads the files of a world. A line "# intent" begins a group; blank lines end statements; a statement
// begins with a comment that has the question in words, and may have "-- refused: why it has to be" or "-- near: 5".
func readQuestions(world string) ([]question, error) {
	entries, err := files.ReadDir(world)
	if err != nil {
		return nil, err
	}
	var list []question
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "questions") {
			continue
		}
		text, err := files.ReadFile(path.Join(world, e.Name()))
		if err != nil {
			return nil, err
		}
		intent := ""
		for i, block := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
			q := question{world: world}
			var sql []string
			for line := range strings.SplitSeq(strings.TrimSpace(block), "\n") {
				comment, isComment := strings.CutPrefix(line, "-- ")
				heading, isHeading := strings.CutPrefix(line, "# ")
				why, isRefused := strings.CutPrefix(comment, "refused: ")
				near, isNear := strings.CutPrefix(comment, "near: ")
				switch {
				case isHeading:
					intent = heading
				case isComment && isRefused:
					q.necessary = why
				case isComment && isNear:
					if q.near, err = strconv.ParseFloat(near, 64); err != nil {
						return nil, err
					}
				case isComment && len(sql) == 0:
					q.asked = strings.TrimSpace(q.asked + " " + comment)
				default:
					sql = append(sql, line)
				}
			}
			q.intent, q.sql = intent, strings.TrimSuffix(strings.Join(sql, "\n"), ";")
			if q.sql == "" && q.asked == "" {
				continue
			}
			if q.sql == "" || q.asked == "" || intent == "" {
				return nil, fmt.Errorf("%s/%s: block %d lacks its words, its SQL or its intent: %q", world, e.Name(), i+1, block)
			}
			list = append(list, q)
		}
	}
	return list, nil
}
