package engine

import (
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// certified refuses a statement that asks main what is not certified, unless the policy has it run all the same. The reason is for the
// administrator.
func (c *call) certified(p *calibrated) error {
	reason := p.certificate.Err()
	if reason == nil {
		return nil
	}
	if p.certificate.Refuses() {
		return c.notCertified(p.Plan, reason)
	}
	c.engine.metrics.Uncertified()
	c.engine.log.Warn("a query for main is not certified, and runs", "analyst", c.scope.Analyst, "fingerprint", p.Plan.Fingerprint, "reason", reason.Error())
	return nil
}

// notCertified is the refusal.
func (c *call) notCertified(plan *rewrite.Plan, reason error) error {
	c.engine.metrics.Uncertified()
	c.engine.log.Error("a query for main is not certified", "analyst", c.scope.Analyst, "fingerprint", plan.Fingerprint, "reason", reason.Error())
	return refusal.New(refusal.NotCertified, "what this statement asks of the main database is not certified")
}
