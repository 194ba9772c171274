package gate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/dpproxy/dpproxy/internal/certify"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// Certificate holds what certify derives of a plan's queries for main, in the order in which main is asked. Nobody
// changes it.
type Certificate struct {
	plan     *rewrite.Plan
	facts    certify.Facts
	warns    bool // the policy has what is not certified run
	measures []Measure
	results  []Result
	together error // what they are charged for together is not certified, though each is
}

// Result is what is known of one query.
type Result struct {
	Certified certify.Certified
	Err       error // a *certify.Error: what could not be derived; nil: it is certified
}

// New reads the queries of a plan. Those behind a stage are read with no rows of it, and again when it is answered.
func New(s *schema.Schema, plan *rewrite.Plan) *Certificate {
	c := &Certificate{plan: plan, facts: Facts(s, plan.Proofs), warns: s.Policy.Certify == policy.Warn}
	for i := range plan.Blocks {
		for _, m := range Measures(&plan.Blocks[i]) {
			certified, err := c.check(m.SQL.With(c.unanswered()), m.Claims)
			c.measures, c.results = append(c.measures, m), append(c.results, Result{certified, err})
		}
	}
	if c.Err() == nil {
		c.together = cmp.Or(families(plan), jointly(c.measures, c.results))
	}
	if len(plan.Stages) == 0 { // nothing is read again
		c.facts = certify.Facts{}
		for i, r := range c.results {
			c.results[i].Certified = r.Certified.Settled()
		}
	}
	return c
}

// unanswered is what stages give before they run: no rows.
func (c *Certificate) unanswered() [][][]*rewrite.Canonical {
	return make([][][]*rewrite.Canonical, len(c.plan.Stages))
}

// families says whether quantiles that are drawn together are of one query and one layer: they are drawn from the
// histogram of the first of them, and mechanism.Compose charges a family once; and whether chains are of one layer:
// what they are charged for is what a unit moves all parts by.
func families(plan *rewrite.Plan) error {
	seen := map[int]bool{}
	for i := range plan.Blocks {
		k := &plan.Blocks[i]
		if !measuredOnce(k) {
			return fmt.Errorf("releases of block %d are not measured once each", i+1)
		}
		for _, members := range mechanism.Families(k.Releases) {
			first := k.Releases[members[0]]
			if seen[first.Family] || !slices.ContainsFunc(k.Histograms, func(h rewrite.Histogram) bool {
				return !slices.ContainsFunc(members, func(m int) bool {
					r := k.Releases[m]
					return !slices.Contains(h.Releases, m) || r.Layer != first.Layer || r.Layered() != first.Layered()
				})
			}) {
				return fmt.Errorf("quantiles of family %d are of several queries or layers", first.Family)
			}
			seen[first.Family] = true
		}
		for _, members := range mechanism.Chains(k.Releases) {
			if err := mechanism.CheckChain(k.Releases, members); err != nil {
				return err
			}
		}
	}
	return nil
}

// measuredOnce says that each release is read once: a quantile from one histogram, any other from the integers; and
// that groups are either listed or selected.
func measuredOnce(k *rewrite.Block) bool {
	times, wrong := make([]int, len(k.Releases)), false
	count := func(release int, quantile bool) {
		times[release]++
		wrong = wrong || (k.Releases[release].Kind == mechanism.Quantile) != quantile
	}
	for _, i := range k.Measured {
		count(i, false)
	}
	for _, h := range k.Histograms {
		for _, i := range h.Releases {
			count(i, true)
		}
	}
	return !wrong && !slices.ContainsFunc(times, func(n int) bool { return n != 1 }) &&
		(k.Select == nil || k.Keys == nil && !k.ByKey)
}

// jointly holds what queries are charged for together against what was derived of each.
func jointly(measures []Measure, results []Result) error {
	claims, done := make([][]certify.Claim, len(results)), make([]certify.Certified, len(results))
	for i, r := range results {
		claims[i], done[i] = measures[i].Claims, r.Certified
	}
	return certify.Together(claims, done)
}

func (c *Certificate) check(q schema.SQL, claims []certify.Claim) (certify.Certified, error) {
	parameters, err := Parameters(q)
	if err != nil {
		return certify.Certified{}, err
	}
	return certify.Check(c.facts, q.Text, parameters, claims)
}

// Readings are what certify derives, query by query.
func (c *Certificate) Readings() []Reading {
	out := make([]Reading, len(c.measures))
	for i, m := range c.measures {
		out[i] = reading(queryOf(Measure{m.SQL.With(c.unanswered()), m.Claims}), c.results[i], c.together)
	}
	return out
}

// Err says what is not certified; nil: nothing. Where queries read what stages answer, Admit may say more once they are
// answered.
func (c *Certificate) Err() error {
	for _, r := range c.results {
		if r.Err != nil {
			return &Refused{r.Err}
		}
	}
	if c.together != nil {
		return &Refused{c.together}
	}
	return nil
}

// Refuses says whether what is not certified does not run.
func (c *Certificate) Refuses() bool { return !c.warns }

// Admit says whether the n-th query may run with the values that it has now.
func (c *Certificate) Admit(n int, q schema.SQL) error {
	if n >= len(c.measures) || q.Text != c.measures[n].SQL.Text {
		return &Refused{errors.New("it is none of the plan's queries")}
	}
	given := c.measures[n].SQL
	err := cmp.Or(c.results[n].Err, c.together)
	if err == nil && !slices.EqualFunc(q.Parameters, given.Parameters, same) {
		now := slices.Clone(c.results)
		if now[n].Certified, err = c.check(q, c.measures[n].Claims); err == nil {
			err = jointly(c.measures, now)
		}
	}
	if err != nil && !c.warns {
		return &Refused{err}
	}
	return nil
}

// same says that a parameter is the one that was certified.
func same(a, b schema.Parameter) bool {
	return a.Given == nil && b.Given == nil && a.Type == b.Type && (a.Value == nil) == (b.Value == nil) &&
		(a.Value == nil || *a.Value == *b.Value)
}

// Refused is a query that may not run.
type Refused struct{ Reason error }

func (e *Refused) Error() string {
	return fmt.Sprintf("a query for main is not certified: %v", e.Reason)
}

// Unwrap gives what certify says.
func (e *Refused) Unwrap() error { return e.Reason }
