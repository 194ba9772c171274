package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// tally is what all answers of a database are worth.
type tally struct {
	world             string
	questions, rounds int
	answered, near    int     // of all rounds
	nearCells         float64 // shares of cells within 10 %, added up
	shown, invented   int
	showing           int     // answers that show rows
	invention         float64 // shares of rows that are not there, added up over them
	existing, missing int
	silent            int
	statements        int             // that the first month pays for
	notices, ends     map[string]held // intervals by kind: of notices, and in columns
	refused           []string        // questions without an answer, and why
}

func newTally(world string) tally {
	return tally{world: world, notices: map[string]held{}, ends: map[string]held{}}
}

// most is how many statements of one month are tried.
const most = 300

// asker asks the questions of a world, one after another, as one analyst.
type asker struct {
	*world
	*session
	questions []question
	expected  []expected
	tally     tally
	each      []tally // by question
	asked     int
	detail    io.Writer // every answer beside the truth
}

// measure asks every question so many times as it is, and as often with ends of intervals.
func (w *world) measure(ctx context.Context, rounds int, detail io.Writer) (tally, error) {
	a := &asker{world: w, detail: detail, tally: newTally(w.name)}
	a.tally.rounds = rounds
	var err error
	if a.questions, err = readQuestions(w.name); err != nil {
		return a.tally, err
	}
	a.tally.questions = len(a.questions)
	for range a.questions {
		a.each = append(a.each, newTally(""))
	}
	for _, q := range a.questions {
		e, err := w.truth(ctx, q)
		if err != nil {
			return a.tally, fmt.Errorf("PostgreSQL itself: %w\n%s", err, q.sql)
		}
		a.expected = append(a.expected, e)
	}
	if a.session, err = w.connect(ctx); err != nil {
		return a.tally, err
	}
	defer a.session.conn.Close(ctx)
	for round := range rounds {
		if err := a.round(ctx, round == 0, false); err != nil {
			return a.tally, err
		}
	}
	if err := a.exhaust(ctx); err != nil {
		return a.tally, err
	}
	if err := a.set(ctx, "dpproxy.intervals", "on"); err != nil {
		return a.tally, err
	}
	for range rounds {
		if err := a.round(ctx, false, true); err != nil {
			return a.tally, err
		}
	}
	a.summary()
	return a.tally, nil
}

// summary has a line for each question.
func (a *asker) summary() {
	fmt.Fprintf(a.detail, "\n--- %s: answers within 10 %%, margins of notices that hold, x_low to x_high ", a.name)
	fmt.Fprintln(a.detail, "that hold, rows invented of those shown, rows missing of those there, off without a word")
	for i, t := range a.each {
		n, e := all(t.notices), all(t.ends)
		fmt.Fprintf(a.detail, "%d/%d  %d/%d  %d/%d  ", t.near, t.answered, n.held, n.printed, e.held, e.printed)
		fmt.Fprintf(a.detail, "%d/%d  %d/%d  %d  ", t.invented, t.shown, t.missing, t.existing, t.silent)
		fmt.Fprintln(a.detail, a.questions[i].asked)
	}
}

func (a *asker) set(ctx context.Context, name, value string) error {
	_, err := a.conn.Exec(ctx, "SET "+name+" = "+value)
	return err
}

// truth asks PostgreSQL itself.
func (w *world) truth(ctx context.Context, q question) (e expected, err error) {
	if e.shown, err = w.direct.ask(ctx, q.sql, q.keys()); err == nil {
		e.among, err = w.direct.ask(ctx, q.among, q.keys())
	}
	return e, err
}

// round asks every question once.
func (a *asker) round(ctx context.Context, first, ends bool) error {
	for i, q := range a.questions {
		got, err := a.paid(ctx, q)
		var refusal *pgconn.PgError
		if errors.As(err, &refusal) {
			if first {
				why := fmt.Sprintf("%s %s (%s)", refusal.Code, refusal.Message, refusal.Hint)
				a.tally.refused = append(a.tally.refused, q.asked+" "+why)
				fmt.Fprintf(a.detail, "\n--- %s: %s\n%s\nREFUSED %s\n", a.name, q.asked, q.sql, why)
			}
			continue
		}
		if err != nil {
			return fmt.Errorf("%w\n%s", err, q.sql)
		}
		v := q.judge(a.expected[i], got)
		a.tally.take(v, ends)
		a.each[i].take(v, ends)
		if first || v.silent != "" && !ends {
			a.show(q, a.expected[i], got, v)
		}
		for _, miss := range v.beside {
			fmt.Fprintf(a.detail, "BESIDE %s %s\n", q.asked, miss)
		}
	}
	return nil
}

// paid asks; where the budget is spent it begins a new month, and asks again.
func (a *asker) paid(ctx context.Context, q question) (answer, error) {
	got, err := a.ask(ctx, q.sql, q.keys())
	if spent(err) {
		a.month()
		if err := a.reset(ctx); err != nil {
			return got, err
		}
		got, err = a.ask(ctx, q.sql, q.keys())
	}
	if err == nil {
		a.asked++
	}
	return got, err
}

// month notes how many statements the first month has paid for.
func (a *asker) month() {
	if a.tally.statements == 0 {
		a.tally.statements = a.asked
	}
}

// exhaust goes on asking, until the first month is spent.
func (a *asker) exhaust(ctx context.Context) error {
	for i := 0; a.tally.statements == 0 && a.asked < most; i++ {
		q := a.questions[i%len(a.questions)]
		_, err := a.ask(ctx, q.sql, q.keys())
		switch {
		case spent(err):
			a.month()
		case err == nil:
			a.asked++
		case !errors.As(err, new(*pgconn.PgError)):
			return err
		}
	}
	if a.tally.statements == 0 {
		a.tally.statements = a.asked
	}
	return nil
}

// take adds an answer.
func (t *tally) take(v verdict, ends bool) {
	into := t.notices
	if ends {
		into = t.ends
	}
	for kind, h := range v.intervals {
		sum := into[kind]
		into[kind] = held{sum.held + h.held, sum.printed + h.printed}
	}
	if ends {
		return
	}
	t.answered++
	t.nearCells += v.near
	if v.shown > 0 {
		t.showing++
		t.invention += float64(v.invented) / float64(v.shown)
	}
	t.shown, t.invented = t.shown+v.shown, t.invented+v.invented
	t.existing, t.missing = t.existing+v.existing, t.missing+v.missing
	if v.median <= nearly {
		t.near++
	}
	if v.silent != "" {
		t.silent++
	}
}

// mostRows is how many rows of an answer are shown.
const mostRows = 15

// show writes an answer beside the truth.
func (a *asker) show(q question, e expected, got answer, v verdict) {
	var b strings.Builder
	fmt.Fprintf(&b, "\n--- %s: %s\n%s\n", a.name, q.asked, q.sql)
	fmt.Fprintf(&b, "median error %.3g, %.0f %% of cells within 10 %%, ", v.median, 100*v.near)
	fmt.Fprintf(&b, "%d rows of which %d invented, %d missing\n", v.shown, v.invented, v.missing)
	for _, kind := range kinds {
		if h, ok := v.intervals[kind]; ok {
			fmt.Fprintf(&b, "intervals of %s: %d of %d hold\n", kind, h.held, h.printed)
		}
	}
	if v.silent != "" {
		fmt.Fprintf(&b, "WITHOUT A WORD: %s\n", v.silent)
	}
	for _, name := range slices.Sorted(maps.Keys(got.margins)) {
		fmt.Fprintf(&b, "margin of %s: %g\n", name, got.margins[name])
	}
	fmt.Fprintf(&b, "hint: %s\n", got.hint)
	for i, id := range got.order {
		if i == mostRows {
			fmt.Fprintf(&b, "  … %d more\n", len(got.order)-i)
			break
		}
		truth := "is not there"
		if e.among.rows[id] != nil {
			truth = e.among.text(id, q.keys())
		}
		fmt.Fprintf(&b, "  %-60s truth: %s\n", got.text(id, q.keys()), truth)
	}
	for id := range e.shown.rows {
		if got.rows[id] == nil && len(e.shown.rows) <= mostRows && !q.cut {
			fmt.Fprintf(&b, "  %-60s truth: %s\n", "is not shown", e.shown.text(id, q.keys()))
		}
	}
	fmt.Fprint(a.detail, b.String())
}
