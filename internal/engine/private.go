package engine

import (
	"context"
	"time"

	"github.com/dpproxy/dpproxy/internal/rewrite"
	"github.com/dpproxy/dpproxy/internal/session"
)

// Execute measures, draws and finishes. How long main worked shows only in the moment at which the measure returns: what
// follows it, in this session and in what others see (a kept answer, a recorded failure, load of the shadow), takes a time
// that depends on released values alone.
func (p *private) Execute(ctx context.Context) (session.Rows, error) {
	defer p.land()
	if err := p.current(); err != nil { // the message may have waited for others of its statements since the charge
		return nil, err
	}
	if err := p.borrow(ctx); err != nil {
		return nil, err
	}
	if p.answer != nil {
		p.engine.metrics.Statement("cached")
		return p.finish(ctx, p.answer)
	}
	p.engine.metrics.Statement("private")
	answer, err := p.release(ctx)
	if err != nil {
		return nil, err
	}
	p.answer = answer
	p.keep(ctx, answer)
	return p.finish(ctx, answer)
}

// release measures and draws. Both outcomes of a measure meet the ledger at the same public moment: a failure is recorded, and an
// answer goes on only while the analyst has failures left. So all their statements which are in flight when the last failure is
// counted end alike (ledger.Releasable).
func (p *private) release(ctx context.Context) ([]released, error) {
	var answer []released
	err := pace{p.state.policy.Timing, time.Now, sleepOn}.run(ctx, func() error {
		give, err := p.state.shares[rewrite.RoutePrivate].take(ctx, p.scope.Analyst)
		if err != nil {
			return err
		}
		defer give()
		exact, err := p.measure(ctx)
		if err == nil {
			answer = p.draw(exact)
		}
		return err
	})
	if err != nil {
		return nil, p.measureFailed(ctx, err)
	}
	return answer, p.engine.ledger.Releasable(ctx, p.scope.Analyst)
}

// borrow takes the answer of the statement that was charged for both. If that one has failed, or has not run (a cursor
// that nobody fetched from), this statement is charged after all.
func (p *private) borrow(ctx context.Context) error {
	first := p.same
	if first == nil {
		return nil
	}
	p.same = nil
	if p.answer = first.answer; p.answer != nil {
		return nil
	}
	return p.engine.Charge(ctx, p.scope, []session.Bound{p})
}
