package engine

import (
	"strings"

	"github.com/dpproxy/dpproxy/internal/command"
	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/rewrite"
	"github.com/dpproxy/dpproxy/internal/rewrite/catalog"
	"github.com/dpproxy/dpproxy/internal/session"
)

// parsed implements session.Parsed: a statement whose syntax is checked.
type parsed struct {
	engine    *Engine
	statement *rewrite.Statement
}

// Texts of up to parsedBytes are remembered with their trees, which take some forty times as much: 40 MB where all are
// that long.
const (
	parsedTexts = 512
	parsedBytes = 2048
)

// Parse splits a text into statements and says which of them the session answers itself. What it returns is shared with
// whoever sends the same text.
func (e *Engine) Parse(sql string) ([]session.Statement, error) {
	s := e.state.Load()
	if known, ok := s.texts.Get(sql); ok {
		return known, nil
	}
	list, err := rewrite.Parse(sql, s.policy.Limits.SQLBytes)
	if err != nil {
		return nil, err
	}
	statements := make([]session.Statement, len(list))
	for i, st := range list {
		statements[i] = session.Statement{SQL: st.SQL, Offset: st.Offset, Word: command.Word(st.Node)}
		if c, ok := command.Of(st.Node, st.SQL); ok {
			statements[i].Command = c
		} else {
			statements[i].Parsed = parsed{e, st}
		}
	}
	if len(sql) <= parsedBytes {
		s.texts.Add(strings.Clone(sql), statements)
	}
	return statements, nil
}

// parseOne is for `dpproxy explain`, which has no session to answer commands.
func (e *Engine) parseOne(sql string) (*rewrite.Statement, error) {
	list, err := rewrite.Parse(sql, e.state.Load().policy.Limits.SQLBytes)
	if err != nil {
		return nil, err
	}
	if len(list) != 1 {
		return nil, pgerr.New(pgerr.SyntaxError, "explain takes exactly one statement")
	}
	return list[0], nil
}

// localized takes the database's name, which the shadow does not have, out of names that are written with it.
func localized(st *rewrite.Statement, database string, maxBytes int) (*rewrite.Statement, error) {
	text, err := catalog.Localize(st.Node, st.SQL, database)
	if err != nil || text == st.SQL {
		return st, err
	}
	list, err := rewrite.Parse(text, maxBytes)
	if err != nil {
		return nil, err
	}
	return list[0], nil
}
