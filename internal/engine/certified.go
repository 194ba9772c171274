package engine

import (
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// certified says what becomes of a query for main that is not certified, for this reason: it is refused, or as the policy says it runs all
// the same. The reason is for the administrator; nil: it is certified.
func (c *call) certified(plan *rewrite.Plan, reason error) error {
	if reason == nil {
		return nil
	}
	c.engine.metrics.Uncertified()
	log, require := c.engine.log.Error, c.state.policy.Certify != policy.Warn
	if !require {
		log = c.engine.log.Warn
	}
	log("a query for main is not certified", "analyst", c.scope.Analyst, "fingerprint", plan.Fingerprint, "refused", require, "reason", reason.Error())
	if !require {
		return nil
	}
	return refusal.New(refusal.NotCertified, "what this statement asks of the main database is not certified")
}

// admit says whether a query may run as it is now.
func (m *measuring) admit(n int, q rewrite.SQL) error {
	return m.certified(m.plan, m.certificate.Admit(n, q))
}
