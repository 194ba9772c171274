package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/engine/estimate"
	"github.com/dpproxy/dpproxy/internal/gate"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
	"github.com/dpproxy/dpproxy/internal/session"
)

// TestAnswersOfOneNoise: what is said of a kept answer is said of the noise that it was drawn with. At one ε that
// differs between the ways to pay, and with the budget. Where a margin chooses the way, the answer is kept for that
// alone.
func TestAnswersOfOneNoise(t *testing.T) {
	w := newWorld(t)
	c := &call{engine: w.engine, state: w.engine.state.Load(), scope: w.scope}
	b := budgetOf(policy.RDP, 10, .5)
	ways, err := prepareWays(context.Background(), statementOf(1, countUpTo(1000000)), b)
	if err != nil || len(ways) != 3 {
		t.Fatalf("%d ways to pay: %v", len(ways), err)
	}
	for _, p := range ways {
		p.settle(b)
	}
	if c.answerKey("alice", ways[0]) != c.answerKey("alice", ways[1]) {
		t.Error("the key says how an answer was paid for")
	}
	text,
		err := json.Marshal(
		ways[0].kept([]released{{Released: gate.Released{Keys: rewrite.NewTable(0), Values: [][]int64{{7}}}}}))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := decodeAnswer(ways[1].Plan, text)
	if err != nil {
		t.Fatal(err)
	}
	drawn, err := ways[1].drawn(context.Background(), answer)
	if err != nil {
		t.Fatal(err)
	}
	if want, got := ways[0].Mechanisms[0].Releases[0].Chosen().Noise, drawn.Mechanisms[0].Releases[0].Chosen().Noise; got != want || got == ways[1].Mechanisms[0].Releases[0].Chosen().Noise {
		t.Errorf("an answer that was drawn with %s noise is said to have %s noise", want, got)
	}
	for _, p := range ways {
		p.budget.margin = &wantedMargin{}
	}
	if ways[0].epsilon != ways[1].epsilon || c.answerKey("alice", ways[0]) == c.answerKey("alice", ways[1]) {
		t.Errorf("%s and %s noise share a kept answer at epsilon %g", ways[0].Mechanisms[0].Releases[0].Chosen().Noise,
			ways[1].Mechanisms[0].Releases[0].Chosen().Noise, ways[0].epsilon)
	}
	again, err := prepareWays(context.Background(), statementOf(1, countUpTo(1000000)), b)
	if err != nil {
		t.Fatal(err)
	}
	again[0].settle(b)
	ways[0].budget.margin = nil
	if c.answerKey("alice", ways[0]) != c.answerKey("alice", again[0]) {
		t.Error("the same question is not recognised")
	}
}

// TestBytesOfWhatIsBound: releases count, an answer that is known, its keys where the plan has none, and the lines of
// an EXPLAIN.
func TestBytesOfWhatIsBound(t *testing.T) {
	c := &call{sql: strings.Repeat("x", 100)}
	key := rewrite.Canonical("abc")
	releases := make([]mechanism.Release, 2)
	declared := rewrite.Block{Keys: rewrite.KeyRows{{&key}, {nil}}, KeyTypes: []uint32{25}, Releases: releases}
	selected := rewrite.Block{KeyTypes: []uint32{25}, Releases: releases}
	plan := &rewrite.Plan{Blocks: []rewrite.Block{declared, selected}}
	mechanisms := gate.Mechanisms{Releases: []*mechanism.Prepared{{}, {}}}
	p := &private{call: c, calibrated: &calibrated{Statement: estimate.Statement{Plan: plan, Mechanisms: []gate.Mechanisms{
		mechanisms, mechanisms,
	}}}}
	planned := 100*session.TreeBytes + plan.Bytes() + 4*releaseBytes
	if plan.Bytes() < 4<<10 {
		t.Errorf("the plan itself takes %d bytes", plan.Bytes())
	}
	if n := p.Bytes(); n != planned {
		t.Errorf("a plan takes %d bytes, want %d", n, planned)
	}
	p.answer = []released{
		{Released: gate.Released{Keys: declared.Keys, Values: [][]int64{{1, 2}, {3, 4}}}},
		{Released: gate.Released{Keys: rewrite.KeyRows{{&key}}, Values: [][]int64{{1}, {2}}}},
	}
	if n, want := p.Bytes(), planned+6*valueBytes+keyBytes+3; n != want {
		t.Errorf("with its answer it takes %d bytes, want %d", n, want)
	}
	if n, want := (explained{c, []string{"abc", "de"}}).Bytes(), 100*session.TreeBytes+5; n != want {
		t.Errorf("an explanation takes %d bytes, want %d", n, want)
	}
}

// TestSumsOfKeptAnswers: an answer that was kept adds up to what it was; one that was kept without what adds up has no
// margin.
func TestSumsOfKeptAnswers(t *testing.T) {
	keys := rewrite.KeyRows{key("a"), key("b")}
	count := scalar(0, 1<<20, 1, laplace)
	count.Decides = true
	p := calibratedFor(t, rewrite.Block{KeyTypes: make([]uint32, 1), Keys: keys, Releases: []mechanism.Release{count}},
		mechanism.Guarantee{Epsilon: .33})
	drawn, _ := draw(mechanism.NewSource(), p.Mechanisms[0], p.Plan.Blocks[0].Releases,
		measured{Keys: keys, Values: [][]int64{{0, 90}}})
	text, err := json.Marshal(p.kept([]released{drawn}))
	if err != nil {
		t.Fatal(err)
	}
	again, err := decodeAnswer(p.Plan, text)
	if err != nil || fmt.Sprint(again[0].Plain) != fmt.Sprint(drawn.Plain) {
		t.Errorf("%v was kept as %v (%v)", drawn.Plain, again, err)
	}
	p.Plan.Blocks[0].Windows = []rewrite.Window{{Column: alone, Adds: true}}
	if hint := p.presented(again).OverShown(); hint != "" {
		t.Error(hint)
	}
	if again[0].Plain = nil; p.presented(again).OverShown() == "" {
		t.Error("of an old answer nothing is said")
	}
}
