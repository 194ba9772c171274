package profile

import (
	"context"

	"github.com/dpproxy/dpproxy/internal/ask"
	"github.com/dpproxy/dpproxy/internal/ledger"
)

// asker asks questions under a wide policy.
type asker struct{ *ask.Asker }

// answer is what came of a question: rows of text, or why there are none.
type answer struct {
	*question
	*ask.Answer
	rows [][]string // NULL is ""
	off  float64    // how many units it needs beyond its quantile (measureOff)
}

// planned are questions with their charges, none of which is made yet.
type planned struct {
	answers []*answer
	asked   []*ask.Answer // of the same
}

func (p planned) charges() []ledger.Charge { return ask.Charges(p.asked) }

// plan plans questions, each at its ε. It costs nothing and reads no private row.
func (a *asker) plan(ctx context.Context, list []*question, epsilon func(*question) float64) (planned, error) {
	var statements []ask.Statement
	for _, q := range list {
		statements = append(statements, ask.Statement{SQL: q.text(), Types: q.types, Values: q.values, Epsilon: epsilon(q)})
	}
	asked, err := a.Plan(ctx, statements)
	p := planned{asked: asked}
	for i, at := range asked {
		p.answers = append(p.answers, &answer{question: list[i], Answer: at})
	}
	return p, err
}

// ask asks what is planned. The error is the ledger's; nothing was measured then.
func (a *asker) ask(ctx context.Context, p planned) (ledger.Balance, error) {
	balance, err := a.Ask(ctx, p.asked)
	for _, at := range p.answers {
		for _, row := range at.Rows {
			texts := make([]string, len(row))
			for i, v := range row {
				texts[i] = string(v)
			}
			at.rows = append(at.rows, texts)
		}
	}
	return balance, err
}
