package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"time"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/session"
)

// private is a bound statement over private rows.
type private struct {
	*call
	*priced
	key     string     // of the answer cache; empty: answers are not kept
	answer  []released // from the cache, or drawn; nil: to be measured
	same    *private   // the same question before it in one message, which was charged for both
	spent   float64    // ε of this statement; 0 from the cache
	balance ledger.Balance
	leave   func() // ends the flight (flight.go); nil: none
}

// bindPrivate plans the statement and looks for an answer that the analyst has already paid for.
func (c *call) bindPrivate(ctx context.Context) (session.Bound, error) {
	p, err := c.calibrate(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.checkFinish(ctx, p.plan.Finish); err != nil {
		return nil, err
	}
	bound := &private{call: c, priced: p}
	if c.state.policy.AnswersTTL > 0 {
		bound.key = c.answerKey(p)
		if bound.answer, err = c.storedAnswer(ctx, bound.key); err != nil {
			return nil, err
		}
	}
	if bound.answer == nil {
		if err := c.checkMeasure(ctx, p); err != nil {
			return nil, err
		}
	}
	return bound, nil
}

// answerKey is what makes two questions the same (PRIVACY 25). The fingerprint holds values and domains.
func (c *call) answerKey(p *priced) string {
	h := sha256.New()
	settings := rewriteSettings(c.scope)
	for _, part := range []string{
		c.scope.Analyst, p.plan.Fingerprint, strconv.FormatFloat(p.epsilon, 'g', -1, 64),
		settings.TimeZone, settings.DateStyle, settings.IntervalStyle, c.state.policy.Version,
	} {
		h.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (c *call) storedAnswer(ctx context.Context, key string) ([]released, error) {
	stored, found, err := c.engine.ledger.Answer(ctx, key)
	if err != nil || !found {
		return nil, err
	}
	var answer []released
	if err := json.Unmarshal(stored, &answer); err != nil {
		return nil, err
	}
	return answer, nil
}

// costs says whether the statement has to be charged: not if the answer is known, nor if it releases nothing.
func (p *private) costs() bool {
	return p.answer == nil && p.releases()
}

// releases says whether the plan releases anything: a filter that nothing satisfies leaves nothing to release.
func (p *priced) releases() bool {
	for _, b := range p.plan.Blocks {
		if len(b.Releases) > 0 || b.Select != nil {
			return true
		}
	}
	return false
}

// Charge spends for every bound statement over private rows that has no answer yet, all or nothing. The same question
// asked again in one message waits for the answer to the first, and costs nothing.
func (e *Engine) Charge(ctx context.Context, scope session.Scope, bounds []session.Bound) error {
	for _, b := range bounds {
		if c, ok := b.(interface{ current() error }); ok {
			if err := c.current(); err != nil {
				return err
			}
		}
	}
	if len(bounds) == 1 {
		if err := e.await(ctx, bounds[0]); err != nil {
			return err
		}
	}
	var costly, free []*private
	var charges []ledger.Charge
	asked := map[string]*private{}
	for _, b := range bounds {
		p, ok := b.(*private)
		switch {
		case !ok:
		case p.costs() && p.key != "" && asked[p.key] != nil:
			p.same = asked[p.key]
			free = append(free, p)
		case p.costs():
			p.same = nil
			asked[p.key] = p
			costly, charges = append(costly, p), append(charges, p.charge)
		default:
			free = append(free, p)
		}
	}
	var balance ledger.Balance
	var err error
	switch {
	case len(charges) > 0:
		defer e.stage("charge", time.Now())
		if balance, err = e.ledger.Spend(ctx, scope.Analyst, charges); err != nil {
			for _, p := range costly {
				p.land()
			}
			return err
		}
	case len(free) > 0 && scope.Settings.Notices():
		if balance, err = e.ledger.Balance(ctx, scope.Analyst); err != nil {
			return err
		}
	}
	for _, p := range costly {
		p.spent, p.balance = p.epsilon, balance
		e.metrics.Charged(p.epsilon)
	}
	for _, p := range free {
		p.spent, p.balance = 0, balance
	}
	return nil
}

// current refuses what was bound before a reload: a portal or a cursor may wait for long, and the connections that it was
// bound to are closed by then, whether the reload changed anything for the statement or not.
func (c *call) current() error {
	now := c.engine.state.Load()
	switch {
	case now.policy.Analysts[c.scope.Analyst] == nil:
		return errRemoved()
	case now.backend == c.state.backend:
		return nil
	}
	return pgerr.New(pgerr.FeatureNotSupported, "cached plan must not change result type",
		pgerr.Hint("The policy has been read again since the statement was bound. Send it again."))
}

// await lets a question that the analyst is asking at this moment from another connection be answered first, and takes its
// answer. Only statements that are alone in their message wait: with several, two messages could wait for each other.
func (e *Engine) await(ctx context.Context, b session.Bound) (err error) {
	p, ok := b.(*private)
	for ok && p.key != "" && p.costs() && ctx.Err() == nil {
		leave := e.flights.enter(ctx, p.key)
		if p.answer, err = p.storedAnswer(ctx, p.key); err != nil || p.answer != nil || leave != nil {
			p.leave = leave
			if err != nil || p.answer != nil {
				p.land()
			}
			return err
		}
	}
	return nil
}

// land ends the statement's flight, if it has one.
func (p *private) land() {
	if p.leave != nil {
		p.leave()
	}
}

// keep stores an answer. A store that fails costs the analyst a second charge later, and nothing else.
func (p *private) keep(ctx context.Context, answer []released) {
	if p.key == "" {
		return
	}
	encoded, err := json.Marshal(answer)
	if err == nil {
		err = p.engine.ledger.PutAnswer(ctx, p.key, encoded, p.state.policy.AnswersTTL)
	}
	if err != nil {
		p.engine.log.Error("answer not kept", "analyst", p.scope.Analyst, "error", err.Error())
	}
}
