package engine

import (
	"errors"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/engine/estimate"
	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/rewrite"
	"github.com/dpproxy/dpproxy/internal/session"
)

// mainFailed is a failure of main as backend reports it.
type mainFailed struct {
	lost bool
	code string
}

func (mainFailed) Error() string { return "main failed" }
func (f mainFailed) Lost() bool  { return f.lost }
func (f mainFailed) Code() string {
	return f.code
}

// refusedByMain wraps backend.RefusedError, whose reason only backend can set.
type refusedByMain struct{}

func (refusedByMain) Error() string { return "main refuses" }
func (refusedByMain) Unwrap() error { return &backend.RefusedError{} }

// faults are what calls can be made to fail with.
var faults = map[string]error{
	"lost":        mainFailed{lost: true, code: "40001"},
	"broken":      mainFailed{lost: true},
	"error":       mainFailed{},
	"busy":        pgerr.New(pgerr.TooManyConnections, "no connection became free"),
	"refused":     refusedByMain{},
	"unproven":    &backend.ProofError{Proof: rewrite.Proof{Columns: []string{"id"}}},
	"equal":       &backend.ProofError{Proof: rewrite.Proof{Of: "the listed values"}},
	"cancelled":   errCanceled,
	"unreachable": pgerr.New(backend.CannotConnectNow, "dpproxy cannot reach the shadow database at the moment"),
	"disk":        pgerr.New(pgerr.IOError, "the budget ledger is unavailable"),
	"syntax":      pgerr.New(pgerr.UndefinedColumn, `column "x" does not exist`),
	"used up":     pgerr.New(pgerr.ObjectNotInState, "failures are used up"),
	"gone":        errors.New("connection reset by peer"),
	"unreadable":  pgerr.New("22P02", "invalid input syntax"),
}

// do runs one line of a transcript; what happens is written into the journal.
//
//	prepare NAME SQL     keeps a prepared statement
//	bind NAME SQL|VALUE  prepares and binds, or binds the prepared statement of that name
//	charge NAME          charges a bound statement
//	run NAME             executes one and reads its rows; leave NAME reads none
//	void NAME            says that it will not run
//	ask SQL              bind, charge and run
//	explain SQL          binds EXPLAIN and shows its head
//	fault CALL NAME      has the next such call fail
//	cancel [at CALL]     cancels now, or while that call runs
//	reload [without X]   loads the policy again
//	drained              whether no statement uses the connections of the first policy
//	types · shift        the shadow gives other types to statements · to finish queries
//	set NAME VALUE · as ANALYST · left · metrics
func (w *world) do(t *testing.T, line string) {
	verb, rest, _ := strings.Cut(line, " ")
	name, arg, _ := strings.Cut(rest, " ")
	report := func(err error) bool {
		if err != nil {
			w.add("%s", errorText(err))
		}
		return err == nil
	}
	switch verb {
	case "prepare":
		p, err := w.prepare(arg)
		report(err)
		w.known[name] = p
	case "bind":
		var b session.Bound
		var err error
		if p := w.known[name]; p != nil {
			var values [][]byte
			if arg != "" {
				values = append(values, []byte(arg))
			}
			b, err = p.Bind(w.ctx, w.scope, nil, values, nil)
		} else {
			b, err = w.bind(arg)
		}
		report(err)
		w.bound[name] = b
	case "charge":
		report(w.engine.Charge(w.ctx, w.scope, w.bound[name]))
	case "run", "leave":
		rows, err := w.bound[name].Execute(w.ctx)
		if report(err) && verb == "run" {
			w.read(rows)
		} else if err == nil {
			rows.Close()
		}
	case "void":
		w.bound[name].(session.Voider).Void()
	case "ask":
		b, err := w.bind(rest)
		if report(err) && report(w.engine.Charge(w.ctx, w.scope, b)) {
			if rows, err := b.Execute(w.ctx); report(err) {
				w.read(rows)
			}
		}
		w.fresh()
	case "explain":
		b, err := w.bind("EXPLAIN " + rest)
		if report(err) && report(w.engine.Charge(w.ctx, w.scope, b)) {
			for _, line := range b.(explained).lines {
				if strings.HasPrefix(line, "sensitivity:") {
					break // what follows is rewrite's
				}
				w.add("row %s", line)
			}
		}
	case "fault":
		w.on(name, func() error { return faults[arg] })
	case "cancel":
		if call, later := strings.CutPrefix(rest, "at "); later {
			cancel := w.cancel
			w.on(call, func() error { cancel(errCanceled); return nil })
		} else {
			w.cancel(errCanceled)
		}
	case "uncancel":
		w.fresh()
	case "reload":
		if w.before == nil {
			w.before = w.fake
		}
		if rest == "without alice" {
			w.reload("\n  alice:", "\n  carol:")
		} else {
			w.reload()
		}
	case "set":
		w.scope.Settings = w.scope.Settings.With(name, arg)
	case "as":
		w.scope.Analyst = name
	case "shift":
		w.fake.shift++
	case "types":
		w.fake.types++
	case "drained":
		old := w.fake
		if w.before != nil {
			old = w.before
		}
		free := old.used.TryLock()
		if free {
			old.used.Unlock()
		}
		w.add("drained %t", free)
	case "left":
		w.add("left %s", w.left())
	case "metrics":
		for _, v := range slices.Sorted(maps.Keys(w.metrics.verdicts)) {
			w.add("%s %d", v, w.metrics.verdicts[v])
		}
		w.add("charged %s", estimate.Number(w.metrics.epsilon))
	default:
		t.Fatalf("transcript line %q", line)
	}
}

// moments are what differs from run to run.
var moments = regexp.MustCompile(`[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:.]*Z`)

// read writes rows, tag and notices into the journal.
func (w *world) read(rows session.Rows) {
	defer rows.Close()
	for {
		row, err := rows.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			w.add("%s", errorText(err))
			return
		}
		texts := make([]string, len(row))
		for i, v := range row {
			texts[i] = string(v)
		}
		w.add("%s", strings.TrimSpace("row "+moments.ReplaceAllString(strings.Join(texts, " | "), "NOW")))
	}
	w.add("%s", rows.Tag())
	for _, n := range rows.Notices() {
		w.add("%s %s", n.Severity, n.Message)
	}
}

// run plays a transcript: lines that begin with > are done, the others are what has to happen.
func (w *world) run(t *testing.T, transcript string) {
	t.Helper()
	var got []string
	for _, line := range strings.Split(strings.TrimSpace(transcript), "\n") {
		line = strings.TrimSpace(line)
		if command, ok := strings.CutPrefix(line, "> "); ok {
			w.do(t, command)
			got = append(append(got, line), w.take()...)
		}
	}
	want := strings.Split(strings.ReplaceAll(strings.TrimSpace(transcript), "\t", ""), "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s\ngot:\n%s", diff, strings.Join(got, "\n"))
	}
}
