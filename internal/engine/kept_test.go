package engine

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// TestAnswersOfOneNoise: what is said of a kept answer is said of the noise that it was drawn with. At one ε that differs between the ways to
// pay, and with the budget. Where a margin chooses the way, the answer is kept for that alone.
func TestAnswersOfOneNoise(t *testing.T) {
	w := newWorld(t)
	c := &call{engine: w.engine, state: w.engine.state.Load(), scope: w.scope}
	b := budgetOf(policy.RDP, 10, .5)
	ways, err := prepareWays(context.Background(), statementOf(1, countUpTo(1000000)), b)
	if err != nil || len(ways) != 2 {
		t.Fatalf("%d ways to pay: %v", len(ways), err)
	}
	for _, p := range ways {
		p.settle(b)
	}
	if c.answerKey(ways[0]) != c.answerKey(ways[1]) {
		t.Error("the key says how an answer was paid for")
	}
	text, err := json.Marshal(ways[0].kept([]released{{Keys: rewrite.NewTable(0), Values: [][]int64{{7}}}}))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := decodeAnswer(ways[1].plan, text)
	if err != nil {
		t.Fatal(err)
	}
	drawn, err := ways[1].drawn(context.Background(), answer)
	if err != nil {
		t.Fatal(err)
	}
	if want, got := ways[0].blocks[0].releases[0].Chosen().Noise, drawn.blocks[0].releases[0].Chosen().Noise; got != want || got == ways[1].blocks[0].releases[0].Chosen().Noise {
		t.Errorf("an answer that was drawn with %s noise is said to have %s noise", want, got)
	}
	for _, p := range ways {
		p.budget.margin = &wantedMargin{}
	}
	if ways[0].epsilon != ways[1].epsilon || c.answerKey(ways[0]) == c.answerKey(ways[1]) {
		t.Errorf("%s and %s noise share a kept answer at epsilon %g", ways[0].blocks[0].releases[0].Chosen().Noise, ways[1].blocks[0].releases[0].Chosen().Noise, ways[0].epsilon)
	}
	again, err := prepareWays(context.Background(), statementOf(1, countUpTo(1000000)), b)
	if err != nil {
		t.Fatal(err)
	}
	again[0].settle(b)
	ways[0].budget.margin = nil
	if c.answerKey(ways[0]) != c.answerKey(again[0]) {
		t.Error("the same question is not recognised")
	}
}
