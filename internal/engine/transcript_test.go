package engine

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/engine/estimate"
	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/policy"
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
	"asked":       ledger.ErrAsked, // by another proxy
	"used up":     pgerr.New(pgerr.ObjectNotInState, "failures are used up"),
	"gone":        errors.New("connection reset by peer"),
	"unreadable":  pgerr.New("22P02", "invalid input syntax"),
	"empty":       errEmpty,
}

// TestTranscripts plays testdata/transcripts: (statements, state, fault) → (messages, charge). Every call on a database
// or the ledger is written down, so that the order of charge and measure is part of what is expected. -rewrite writes
// it anew.
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata/transcripts", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, play)
	})
}

// play does the commands of one block, in a world of their own; first lines «policy OLD → NEW» change its policy. What
// follows from a command is a line, in order; what the client reads in words has lines of its own.
func play(t *testing.T, d *datadriven.TestData) string {
	var rules []string
	commands := strings.Split(d.Input, "\n")
	for strings.HasPrefix(commands[0], "policy ") {
		before, after, _ := strings.Cut(strings.TrimPrefix(commands[0], "policy "), " → ")
		rules, commands = append(rules, before, after), commands[1:]
	}
	w := newWorld(t, rules...)
	var out strings.Builder
	for _, command := range commands {
		w.do(t, command)
		events := w.take()
		if w.beside != nil {
			events = w.beside.split(command, events)
		}
		if command == "join" {
			w.beside = nil
		}
		if len(events) == 0 {
			continue
		}
		verb, rest, _ := strings.Cut(command, " ")
		name, _, _ := strings.Cut(rest, " ")
		_, bound := w.bound[name]
		if _, known := w.known[name]; bound || known {
			verb += " " + name
		}
		out.WriteString(verb + ":")
		separator := " "
		for _, event := range events {
			words := inWords.MatchString(event)
			if words {
				separator = "\n  "
			}
			out.WriteString(separator + strings.TrimSpace(event))
			separator = map[bool]string{true: "\n  ", false: "; "}[words]
		}
		out.WriteString("\n")
	}
	return out.String()
}

// inWords is what a client reads: messages, and the lines of EXPLAIN.
var inWords = regexp.MustCompile(`^(NOTICE |ERROR |FATAL |internal: |\| )`)

// another is a connection of the analyst's that waits for what the world's own is asking.
type another struct {
	*world
	done chan struct{}
	late []string
}

// split keeps its charge, which may come while the rows of the first are read, for when it is joined.
func (a *another) split(command string, events []string) []string {
	charges := func(event string) bool { return strings.HasPrefix(event, "spend ") }
	for _, event := range events {
		if charges(event) {
			a.late = append(a.late, event)
		}
	}
	if events = slices.DeleteFunc(events, charges); command == "join" {
		return slices.Concat(a.late, events, a.take())
	}
	return events
}

// do runs one command of a transcript; what happens is written into the journal.
//
//	prepare NAME SQL     keeps a prepared statement
//	bind NAME SQL|VALUE  prepares and binds, or binds the prepared statement of that name
//	charge NAME          charges a bound statement
//	run NAME             executes one and reads its rows; leave NAME reads none
//	void NAME            says that it will not run
//	ask SQL              bind, charge and run
//	send TEXT            sends a text to the analyst's session
//	explain SQL          binds EXPLAIN and shows its head; dpproxy explain SQL shows its first line
//	beside COMMAND       does it over another connection, where it has to wait; join waits for that, and has its charge
//	fault CALL FAULT     has the next such call fail
//	cancel [at CALL [FAULT]]  cancels now, or in that call, which may fail; cancel beside the other connection; uncancel
//	elsewhere NAME at CALL [FAULT]  has another proxy keep an answer to it, 40, in that call, which may fail
//	reload [without X]   loads the policy again
//	drained              whether no statement uses the connections of the first policy
//	types · shift        the shadow gives other types to statements · to finish queries
//	shapeless            main proves nothing of the shape of patients
//	result TEXT …        the row that the shadow answers with
//	set NAME VALUE · as ANALYST · left · metrics
func (w *world) do(t *testing.T, line string) {
	verb, rest, _ := strings.Cut(line, " ")
	name, arg, _ := strings.Cut(rest, " ")
	switch verb {
	case "prepare":
		p, err := w.prepare(arg)
		w.report(err)
		w.known[name] = p
	case "bind":
		var err error
		if p := w.known[name]; p == nil {
			w.bound[name], err = w.bind(arg)
		} else if arg == "" {
			w.bound[name], err = p.Bind(w.ctx, w.scope, nil, nil, nil)
		} else {
			w.bound[name], err = p.Bind(w.ctx, w.scope, nil, [][]byte{[]byte(arg)}, nil)
		}
		w.report(err)
	case "charge":
		w.report(w.engine.Charge(w.ctx, w.scope, w.bound[name]))
	case "run", "leave":
		rows, err := w.bound[name].Execute(w.ctx)
		if w.report(err) && verb == "run" {
			w.read(rows)
		} else if err == nil {
			rows.Close()
		}
	case "void":
		w.bound[name].(session.Voider).Void()
	case "ask":
		if b := w.charged(rest); b != nil {
			if rows, err := b.Execute(w.ctx); w.report(err) {
				w.read(rows)
			}
		}
		w.fresh()
	case "explain":
		if b := w.charged("EXPLAIN " + rest); b != nil {
			rewrites := false // the lines from here on
			for _, line := range b.(explained).lines {
				rewrites = rewrites || strings.HasPrefix(line, "sensitivity:")
				if !rewrites || strings.HasPrefix(line, "certified:") {
					w.add("| %s", line)
				}
			}
		}
	case "dpproxy":
		if lines, err := w.engine.Explain(w.ctx, w.scope, arg); w.report(err) {
			w.add("| %s", lines[0])
		}
	case "send":
		if w.session == nil {
			w.session = w.open(t, session.NewHandler(w.engine))
		}
		w.fresh()
		w.session.Sync(!w.report(w.session.Query(w.ctx, rest, client{w.journal})))
	case "left":
		w.add("%s", w.left())
	case "metrics":
		for _, v := range slices.Sorted(maps.Keys(w.metrics.verdicts)) {
			w.add("%s %d", v, w.metrics.verdicts[v])
		}
		w.add("charged %s", estimate.Number(w.metrics.epsilon))
	case "drained":
		old := w.fake
		if w.before != nil {
			old = w.before
		}
		free := old.used.TryLock()
		if free {
			old.used.Unlock()
		}
		w.add("%t", free)
	default:
		w.arrange(t, verb, name, arg, rest)
	}
}

// arrange does what changes the state of the world, and has nothing happen.
func (w *world) arrange(t *testing.T, verb, name, arg, rest string) {
	switch verb {
	case "beside":
		w.beside = w.connect()
		go func() {
			defer close(w.beside.done)
			w.beside.do(t, rest)
		}()
		select {
		case <-w.beside.done:
			t.Fatalf("%s did not wait", rest)
		case <-time.After(20 * time.Millisecond):
		}
	case "join":
		<-w.beside.done
	case "fault":
		w.on(name, func() error { return faults[arg] })
	case "cancel":
		cancel := w.cancel
		switch name {
		case "":
			cancel(errCanceled)
		case "beside":
			w.beside.cancel(errCanceled)
		default:
			w.during(rest, func() { cancel(errCanceled) })
		}
	case "uncancel":
		w.fresh()
	case "elsewhere":
		w.during(arg, func() { w.elsewhere(t, name) })
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
	case "shapeless":
		w.fake.schema.Relations[policy.Name{Schema: "public", Relation: "patients"}].Shape = ""
	case "result":
		for _, text := range strings.Fields(rest) {
			w.fake.result = append(w.fake.result, []byte(text))
		}
	default:
		t.Fatalf("no command %q", verb)
	}
}

// during has f run in a call, which then fails if a fault is named: «at CALL [FAULT]».
func (w *world) during(at string, f func()) {
	call, fault, _ := strings.Cut(strings.TrimPrefix(at, "at "), " ")
	w.on(call, func() error { f(); return faults[fault] })
}

// elsewhere stores another proxy's answer to a bound question: 40.
func (w *world) elsewhere(t *testing.T, name string) {
	encoded, err := json.Marshal([]keptBlock{{Values: [][]int64{{40}}}})
	if err == nil {
		_, err = w.ledger.PutAnswer(context.Background(), w.bound[name].(*private).key, encoded, time.Hour)
	}
	if err != nil {
		t.Error(err)
	}
}

// connect is another connection of the analyst's.
func (w *world) connect() *another {
	second := &world{journal: &journal{}, t: w.t, engine: w.engine, scope: w.scope, bound: w.bound}
	second.fresh()
	return &another{world: second, done: make(chan struct{})}
}

// report writes an error down, if there is one.
func (w *world) report(err error) bool {
	if err != nil {
		w.add("%s", errorText(err))
	}
	return err == nil
}

// charged binds and charges a statement; nil: it is refused.
func (w *world) charged(sql string) session.Bound {
	b, err := w.bind(sql)
	if w.report(err) && w.report(w.engine.Charge(w.ctx, w.scope, b)) {
		return b
	}
	return nil
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
