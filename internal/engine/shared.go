package engine

import (
	"context"
	"encoding/json"
	"time"
)

// Where the policy bounds all analysts together, one answer to a question is enough for all of them (docs/privacy.md
// P23c): each who asks is charged for it, and all together once.

// sharedAnswer is one that all analysts together have paid for, with the time at which it was kept, and the δ that its
// partition selections were drawn for.
type sharedAnswer struct {
	At             time.Time
	SelectionDelta float64
	Blocks         []keptBlock
}

// shareable says that an answer to the statement, as it is asked, may be another's: it is drawn once, for a price that
// is known before.
func (p *private) shareable(asked *calibrated) bool {
	return p.key != "" && p.state.policy.Budget != nil && len(p.Plan.Stages) == 0 && asked.look == nil && asked.byEpsilon()
}

// share keeps an answer that was drawn just now for other analysts.
func (k *answerCache) share(ctx context.Context, p *private, asked *calibrated) error {
	if !p.shareable(asked) {
		return nil
	}
	encoded, err := json.Marshal(sharedAnswer{time.Now(), asked.charge.SelectionDelta, p.kept(p.answer)})
	if err == nil {
		_, err = k.ledger.PutAnswer(ctx, p.answerKey("", asked), encoded, p.state.policy.AnswersTTL)
	}
	return err
}

// findShared looks for an answer of another analyst's, that was drawn at the price which this one would pay.
func (k *answerCache) findShared(ctx context.Context, p *private) error {
	p.shared = nil
	if !p.costs() || !p.shareable(p.calibrated) {
		return nil
	}
	text, found, err := k.ledger.Answer(ctx, p.answerKey("", p.calibrated))
	if err != nil || !found {
		return err
	}
	s := &sharedAnswer{}
	if err := json.Unmarshal(text, s); err != nil {
		return err
	}
	paid := len(s.Blocks) > 0 && s.Blocks[0].Price != nil && *s.Blocks[0].Price == p.price.Guarantee &&
		s.SelectionDelta == p.charge.SelectionDelta // which follows from the whole budget, too
	if paid && p.left(s) > 0 {
		p.shared = s
	}
	return nil
}

// left is for how long an answer is kept yet.
func (p *private) left(s *sharedAnswer) time.Duration {
	return p.state.policy.AnswersTTL - time.Since(s.At)
}

// takeShared answers the statement, which has been charged for it, by another analyst's answer, and keeps that for as
// long as it is kept for the other.
func (k *answerCache) takeShared(ctx context.Context, p *private) {
	p.answer = answerOf(p.Plan, p.shared.Blocks)
	encoded, err := json.Marshal(p.shared.Blocks)
	if err == nil {
		_, err = k.ledger.PutAnswer(ctx, p.key, encoded, max(p.left(p.shared), 1))
	}
	if p.claimed = err != nil; err != nil {
		k.log.Error("answer not kept", "analyst", p.scope.Analyst, "error", err.Error())
	}
}
