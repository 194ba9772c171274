package engine

import (
	"testing"

	"github.com/dpproxy/dpproxy/internal/policy"
)

// TestAnswersOfOneNoise: an answer is kept for the noise that it was drawn with. At one ε that differs between the ways to pay: a margin may
// leave one of them alone, and would be said of an answer that was drawn the other way.
func TestAnswersOfOneNoise(t *testing.T) {
	w := newWorld(t)
	c := &call{engine: w.engine, state: w.engine.state.Load(), scope: w.scope}
	b := budgetOf(policy.RDP, 10, .5)
	ways, err := prepareWays(statementOf(1, countUpTo(1000000)), b)
	if err != nil || len(ways) != 2 {
		t.Fatalf("%d ways to pay: %v", len(ways), err)
	}
	for _, p := range ways {
		p.settle(b)
	}
	if ways[0].epsilon != ways[1].epsilon || c.answerKey(ways[0]) == c.answerKey(ways[1]) {
		t.Errorf("%s and %s noise share a kept answer at epsilon %g", ways[0].blocks[0].releases[0].Chosen().Noise, ways[1].blocks[0].releases[0].Chosen().Noise, ways[0].epsilon)
	}
	again, err := prepareWays(statementOf(1, countUpTo(1000000)), b)
	if err != nil {
		t.Fatal(err)
	}
	again[0].settle(b)
	if c.answerKey(ways[0]) != c.answerKey(again[0]) {
		t.Error("the same question is not recognised")
	}
}
