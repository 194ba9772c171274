package main

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/refusal"
)

// verdict is what became of a question.
type verdict int

const (
	same      verdict = iota // answered with PostgreSQL's columns, types and rows, in its order where it has one
	other                    // answered otherwise
	necessary                // refused, and has to be
	gap                      // refused, and need not be
	unlike                   // answered, and should have been refused
)

// refusals are the codes of refusals: what a failure of the database brings is never a refusal.
var refusals = []string{pgerr.FeatureNotSupported, pgerr.InsufficientPrivilege, pgerr.StatementTooComplex}

// result is a question with what became of it.
type result struct {
	question
	verdict verdict
	detail  string // how the answer differs, or the refusal
	twin    string // why the twin does not answer it, or how its columns are not PostgreSQL's; empty: it answers it
}

// askWorld asks all questions of a world.
func askWorld(ctx context.Context, name string) ([]result, error) {
	list, err := readQuestions(name)
	if err != nil {
		return nil, err
	}
	w, err := start(ctx, name)
	if err != nil {
		return nil, err
	}
	defer w.stop()
	var results []result
	for _, q := range list {
		r, err := w.judge(ctx, q)
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	return results, nil
}

// judge asks one question of both.
func (w *world) judge(ctx context.Context, q question) (result, error) {
	r := result{question: q}
	got, err := ask(ctx, w.proxied, q.sql)
	var refused *pgconn.PgError
	switch {
	case errors.As(err, &refused):
		r.verdict, r.detail = gap, refused.Code+" "+refused.Message+"\nhint: "+refused.Hint
		if q.necessary != "" && slices.Contains(refusals, refused.Code) {
			r.verdict = necessary
		}
	case err != nil:
		return r, err
	case q.necessary != "":
		r.verdict, r.detail = unlike, "answered, though listed as refused: "+q.necessary
	}
	want, failed := ask(ctx, w.direct, q.sql)
	if failed != nil {
		return r, errors.New("PostgreSQL itself: " + failed.Error() + "\n" + q.sql)
	}
	r.twin = onTwin(ctx, w.trying, q, want)
	if r.twin == "" && refusal.OfRows(err) {
		r.twin = onTwin(ctx, w.shown, q, want)
	}
	if err == nil && q.necessary == "" {
		d, failed := w.difference(ctx, q, got, want)
		if failed != nil {
			return r, failed
		}
		if d != "" {
			r.verdict, r.detail = other, d
		}
	}
	return r, nil
}

// onTwin asks a question by a connection that has it answered by the twin.
func onTwin(ctx context.Context, conn *pgx.Conn, q question, want *pgconn.Result) string {
	got, err := ask(ctx, conn, q.sql)
	if err != nil {
		return err.Error()
	}
	return otherColumns(got.FieldDescriptions, want.FieldDescriptions)
}

// ask sends a statement as psql does, and reads its result; that of the last, if there are several.
func ask(ctx context.Context, conn *pgx.Conn, sql string) (*pgconn.Result, error) {
	results := conn.PgConn().Exec(ctx, sql)
	var last *pgconn.Result
	for results.NextResult() {
		reader := results.ResultReader()
		last = &pgconn.Result{FieldDescriptions: slices.Clone(reader.FieldDescriptions())}
		for reader.NextRow() {
			var row [][]byte
			for _, v := range reader.Values() {
				row = append(row, bytes.Clone(v))
			}
			last.Rows = append(last.Rows, row)
		}
	}
	return last, results.Close()
}

// shorten keeps a text to one line of so many characters.
func shorten(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > most {
		return text[:most] + " …"
	}
	return text
}
