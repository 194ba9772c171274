package engine

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/gate"
	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/rewrite"
	"github.com/dpproxy/dpproxy/internal/session"
)

// Execute measures, draws and finishes. How long main worked shows only in the moment at which the measure returns:
// what follows it, in this session and in what others see (a kept answer, a recorded failure, load of the shadow),
// takes a time that depends on released values alone.
func (p *private) Execute(ctx context.Context) (session.Rows, error) {
	defer p.idle()
	rows, err := p.execute(ctx)
	if err != nil {
		p.leave()
	}
	return rows, err
}

func (p *private) execute(ctx context.Context) (session.Rows, error) {
	answer, err := p.engine.releaser.measure(ctx, p)
	if err != nil {
		return nil, err
	}
	return p.finish(ctx, answer)
}

// measure measures and draws. Both outcomes reach the ledger at the same public moment: it records a failure, and it
// lets an answer pass only while the analyst has failures left (ledger.Releasable). So when the last failure is
// counted, all statements of that analyst which are being measured end in the same way.
func (d direct) measure(ctx context.Context, p *private) ([]released, error) {
	p.counted("private")
	var answer []released
	trace := session.TraceOf(ctx)
	free := func() {} // the analyst's slot, at a public moment: another statement of theirs may wait for it
	defer func() { free() }()
	err := pace{p.state.policy.Timing, trace}.run(ctx, func(hold func() error) error {
		release, err := p.state.quotas[rewrite.RoutePrivate].Acquire(ctx, p.scope.Analyst)
		if err != nil {
			return err
		}
		free = release
		answer, err = p.askMain(ctx, hold)
		return err
	})
	if err != nil {
		return nil, p.measureFailed(ctx, err)
	}
	if err := d.ledger.Releasable(ctx, p.scope.Analyst); err != nil {
		return nil, err
	}
	trace.Mark("draw")
	return answer, nil
}

// measureFailure tells the engine about a failure of main while it measured. backend.MeasureError implements it.
type measureFailure interface {
	error
	Lost() bool   // main was lost, which is no fault of the statement
	Code() string // the SQLSTATE, for the log
}

// measuring is one attempt to measure a statement, and to draw its answer.
type measuring struct {
	*private
	exact  *gate.Measured
	answer []released   // of the blocks that are drawn
	hold   func() error // until a public moment
}

// mostPause is the longest pause before a statement is measured again that a standby has ended.
const mostPause = 4 * time.Second

// askMain measures and draws. It asks main once more under the same charge if main was lost, and with growing pauses
// while a standby ends the statement to replay, unless something was drawn before: a second draw would be a second
// release.
func (p *private) askMain(ctx context.Context, hold func() error) ([]released, error) {
	defer p.engine.privately("measure", time.Now())
	m := &measuring{private: p, hold: hold}
	err := m.ask(ctx)
	var failure measureFailure
	for pause := time.Duration(0); errors.As(err, &failure) && failure.Lost() && len(m.answer) == 0 &&
		ctx.Err() == nil; pause = max(2*pause, 50*time.Millisecond) {
		if pause > mostPause || pause > 0 && !backend.Conflict(failure.Code()) {
			break
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		p.engine.log.Warn("main was lost while measuring; the statement is measured again",
			"analyst", p.scope.Analyst, "fingerprint", p.Plan.Fingerprint, "sqlstate", failure.Code())
		m = &measuring{private: p, hold: hold}
		err = m.ask(ctx)
	}
	return m.answer, err
}

// ask runs every measure query of the plan in one snapshot of main, and draws the blocks of a stage before it is
// answered.
func (m *measuring) ask(ctx context.Context) error {
	m.exact = gate.NewMeasured(m.Plan)
	if err := m.exact.Ask(ctx, m.state.databases, m.certificate, backendSettings(m.scope), m.stageRows); err != nil {
		return err
	}
	if err := m.draw(ctx, len(m.Plan.Blocks)); err != nil {
		return err
	}
	return m.drawBehindLook(ctx)
}

// measureFailed turns whatever went wrong on main into one constant error. Unless main was lost, the failure counts
// against the analyst's limit, and the statement is refused to them from now on. They see the error only once that is
// recorded. If the ledger fails they see its error, as they would after an answer.
func (p *private) measureFailed(ctx context.Context, err error) error {
	var unanswered *stageError
	if errors.As(err, &unanswered) { // released values say so: it passes where an answer would
		return cmp.Or(p.engine.ledger.Releasable(ctx, p.scope.Analyst), unanswered.err)
	}
	var kept *backend.NotAdmitted
	if errors.As(err, &kept) { // so do they where a stage is answered
		return cmp.Or(p.engine.ledger.Releasable(ctx, p.scope.Analyst), p.notCertified(p.Plan, kept.Reason))
	}
	// Whether a cancel came first is decided where the measure ended, and once: one that comes now must not leave a
	// failure uncounted.
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		return err
	}
	if busy := (*pgconn.PgError)(nil); errors.As(err, &busy) {
		return busy // no connection in time: main was not asked
	}
	var failure measureFailure
	var unproven *backend.ProofError
	gone := errors.As(err, &unproven)
	lost := gone || errors.As(err, &failure) && failure.Lost()
	code := ""
	if failure != nil {
		code = failure.Code()
	}
	p.engine.log.Error("main failed while measuring", "analyst", p.scope.Analyst, "fingerprint", p.Plan.Fingerprint,
		"sqlstate", code, "lost", lost)
	// The client may be gone by now; that must not keep the failure from being recorded.
	recording, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if gone {
		p.engine.reread(recording, p.state)
	}
	if !lost {
		if err := p.engine.ledger.Fail(recording, p.scope.Analyst, p.Plan.Fingerprint); err != nil {
			p.engine.log.Error("failed statement not recorded", "analyst", p.scope.Analyst, "error", err.Error())
			return err
		}
	}
	return pgerr.New(pgerr.InternalError, "the main database failed while measuring",
		pgerr.Hint("What was charged stays charged. Tell the administrator; the proxy's log has the reason."))
}
