package engine

import (
	"context"
	"fmt"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// maxStageBytes bounds what a stage sends to main.
const maxStageBytes = 8 << 20

// stageError is why a stage could not be answered. It is computed from released values, so it may be told.
type stageError struct{ err error }

func (e *stageError) Error() string { return e.err.Error() }
func (e *stageError) Unwrap() error { return e.err }

// stageRows releases the blocks that a stage reads, and answers it (docs/privacy.md P28). Others can see that the
// shadow works on it, so it begins at a public moment.
func (m *measuring) stageRows(ctx context.Context, number int) ([][]*rewrite.Canonical, error) {
	if err := m.draw(ctx, m.Plan.Stages[number].Blocks); err != nil {
		return nil, err
	}
	if err := m.hold(); err != nil {
		return nil, err
	}
	if err := m.answerStage(ctx, m.answer); err != nil {
		return nil, &stageError{err}
	}
	return m.stages[number], nil
}

// answerStages answers what has not been answered of the stages: an answer that was kept has none of them. They follow
// from it.
func (p *private) answerStages(ctx context.Context, values []released) error {
	for len(p.stages) < len(p.Plan.Stages) {
		if err := p.answerStage(ctx, values); err != nil {
			return err
		}
	}
	return nil
}

// answerStage answers the next stage.
func (p *private) answerStage(ctx context.Context, values []released) error {
	s := p.Plan.Stages[len(p.stages)]
	r, err := p.finishRequest(s.Query, p.presented(values[:s.Blocks]).Blocks)
	if err != nil {
		return err
	}
	release, err := p.state.quotas[s.Query.On].Acquire(ctx, p.scope.Analyst)
	if err != nil {
		return err
	}
	defer release()
	rows, err := p.state.databases.StageRows(ctx, s.Query.On, r, len(s.Types), s.List)
	if err != nil {
		return err
	}
	if err := checkStage(s, rows); err != nil {
		return err
	}
	p.stages = append(p.stages, rows)
	return nil
}

// checkStage refuses rows that are more, or longer, than what main does with them was bounded for.
func checkStage(s rewrite.Stage, rows [][]*rewrite.Canonical) error {
	const what = "a query over released values that private rows are compared with "
	if int64(len(rows)) > s.Rows {
		return pgerr.New(pgerr.StatementTooComplex, fmt.Sprintf(what+"has more than %d rows", s.Rows),
			pgerr.Hint("Add a LIMIT to it."))
	}
	bytes := 0
	for _, row := range rows {
		for i, value := range row {
			if value == nil {
				continue
			}
			if s.TooLong(i, *value) {
				return pgerr.New(pgerr.StatementTooComplex, what+"returns a text or a number that is too long",
					pgerr.Hint("Shorten it: left(x, 100), round(x, 10)."))
			}
			bytes += len(*value)
		}
	}
	if bytes > maxStageBytes {
		return pgerr.New(pgerr.StatementTooComplex, what+"returns too much text", pgerr.Hint("Shorten it, or add a LIMIT."))
	}
	return nil
}
