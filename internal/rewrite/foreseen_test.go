package rewrite_test

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// foreseen answers a plan's questions from one round trip, as the engine does.
type foreseen struct {
	lookup
	asked   rewrite.Constants
	answers *backend.Constants
}

func (l foreseen) Literal(oid uint32, text string) (rewrite.Canonical, error) {
	if n := slices.Index(l.asked.Literals, rewrite.Literal{Type: oid, Text: text}); n >= 0 && l.w.clock[text] == "" {
		return *l.answers.Literals[n], nil
	}
	return l.lookup.Literal(oid, text)
}

func (l foreseen) Expression(n int) (value *rewrite.Canonical, known bool) {
	if sql := l.asked.Expressions[n].SQL; len(l.w.clock) > 0 && (strings.Contains(sql, "'now'") ||
		strings.Contains(sql, "'today'")) {
		return nil, false
	}
	return l.answers.Expressions[n], true
}

// TestForeseenConstantsPlanAlike: what the analysis asks for in advance gives the plan that asking on the way gives.
func TestForeseenConstantsPlanAlike(t *testing.T) {
	w, compared := theWorld.as(plain).then(), 0
	for _, q := range corpus(t) {
		values := parameters(q.params)
		asked, err := w.ask(q.sql, values)
		if err != nil || asked.plan == nil {
			continue
		}
		constants := asked.analysis.Constants()
		if len(constants.Literals)+len(constants.Expressions) == 0 {
			continue
		}
		answers, err := w.backend.Constants(context.Background(), backend.Parameters{
			Values: values, Types: asked.described.ParamOIDs,
		}, constants, w.session)
		if err != nil {
			continue // the engine asks on the way, too
		}
		plan, err := asked.analysis.Plan(context.Background(), answers.Parameters,
			foreseen{lookup{w, asked}, constants, answers}, rewrite.Options{HashKey: "test"})
		if err != nil {
			t.Errorf("%s: %s\n%v", q.file, q.sql, err)
			continue
		}
		compared++
		if !reflect.DeepEqual(plan.Explain, asked.plan.Explain) || !reflect.DeepEqual(plan.Blocks, asked.plan.Blocks) ||
			plan.Finish.SQL != asked.plan.Finish.SQL {
			t.Errorf("%s: %s\nplanned %v,\non the way %v", q.file, q.sql, plan.Explain, asked.plan.Explain)
		}
	}
	if compared < 20 {
		t.Errorf("only %d plans compared", compared)
	}
	t.Log(compared, "plans compared")
}
