package rewrite_test

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/certify"
	"github.com/dpproxy/dpproxy/internal/gate"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// leastEqual is the share of queries of the corpus of which exactly what is charged has to be derived; of the others
// less is: the plan charges more than it would have to.
const leastEqual = .99

// uncertified are statements of the corpus of which more is derived than main proves: that no two values of a list are
// one day.
var uncertified = map[string]bool{
	"SELECT g.d, count(*) FROM patients p JOIN generate_series(date_trunc('year', to_timestamp('2021-05-05', 'YYYY-MM-DD'))::date, make_date(2021, 1, 3), interval '24 hours') AS g(d) ON g.d::date = p.admitted GROUP BY 1": true,
}

// TestCertified: every query that a statement of the corpus has for main is certified, whatever its stages answer: what
// is derived from its text is no more than what is charged, and nearly always the same.
func TestCertified(t *testing.T) {
	seen := map[string]bool{}
	equal := 0
	for _, q := range corpus(t) {
		if uncertified[q.sql] {
			continue
		}
		asked, err := theWorld.then().ask(q.sql, parameters(q.params))
		if err != nil || asked.plan == nil {
			continue
		}
		c := gate.New(theWorld.schema, asked.plan)
		exact := admitted(t, q, c, asked.plan)
		for i, r := range c.Readings() {
			key := fmt.Sprint(r.SQL, r.Parameters)
			if seen[key] {
				continue
			}
			seen[key] = true
			switch {
			case !r.Certified:
				t.Errorf("%s: %s\n%s\n%s", q.file, q.sql, r.Missing, r.SQL)
			case exact[i]:
				equal++
			default:
				t.Logf("%s: %s: less is derived than is charged", q.file, q.sql)
			}
			if len(asked.plan.Stages) == 0 {
				continue
			}
			steps := gate.Derived(gate.Facts(theWorld.schema, asked.plan.Proofs), []gate.Reading{r})[0].Derivation
			if last := steps[len(steps)-1]; last.Rule != "covers" {
				t.Errorf("%s: %s\nderived as far as %s", q.file, q.sql, last)
			}
		}
	}
	t.Logf("%d queries, of %d exactly what is charged is derived", len(seen), equal)
	if float64(equal) < leastEqual*float64(len(seen)) {
		t.Errorf("of %d of %d queries less is derived than is charged", len(seen)-equal, len(seen))
	}
}

// admitted has a certificate admit the queries of a plan, with what stages may answer, and says of which exactly what
// is charged is derived, with some of these answers.
func admitted(t *testing.T, q corpusQuery, c *gate.Certificate, plan *rewrite.Plan) (exact []bool) {
	facts := gate.Facts(theWorld.schema, plan.Proofs)
	for i := range plan.Blocks {
		n := len(exact)
		exact = append(exact, make([]bool, len(gate.Queries(&plan.Blocks[i])))...)
		for _, stages := range stageAnswers(plan, i) {
			for j, m := range gate.Measures(given(&plan.Blocks[i], stages)) {
				if err := c.Admit(n+j, m.SQL); err != nil {
					t.Errorf("%s: %s\n%v", q.file, q.sql, err)
					continue
				}
				values, err := gate.Parameters(m.SQL)
				if err != nil {
					t.Fatal(err)
				}
				done, err := certify.Check(facts, m.SQL.Text, values, m.Claims)
				exact[n+j] = exact[n+j] || err == nil && exactlyCharged(m.Claims, done.Outputs)
			}
		}
	}
	return exact
}

// exactlyCharged reports whether the bounds that are derived are those that are charged. What is charged as moving
// nothing moves in no group.
func exactlyCharged(claims []certify.Claim, outputs []certify.Output) bool {
	bin := slices.ContainsFunc(claims, func(c certify.Claim) bool { return c.Kind == certify.Bin })
	for i, c := range claims {
		if c.Kind != certify.Integer || c.Delta.Sign() == 0 {
			continue
		}
		delta := outputs[i].Delta
		if bin {
			delta = outputs[i].Place
		}
		for _, b := range [][2]*big.Rat{{delta, c.Delta}, {outputs[i].Total, c.Total}, {outputs[i].Groups, c.Groups}} {
			if b[1] != nil && b[0].Cmp(b[1]) != 0 {
				return false
			}
		}
	}
	return true
}

// TestFamilies: quantiles that are drawn together are charged once, so they are of one query and of one layer.
func TestFamilies(t *testing.T) {
	plan := func() *rewrite.Plan {
		asked, err := theWorld.then().ask(
			"SELECT percentile_cont(0.25) WITHIN GROUP (ORDER BY age), percentile_cont(0.75) WITHIN GROUP (ORDER BY age) FROM patients", nil)
		if err != nil {
			t.Fatal(err)
		}
		return asked.plan
	}
	for of, change := range map[string]func(p *rewrite.Plan, k *rewrite.Block, h *rewrite.Histogram){
		"": func(*rewrite.Plan, *rewrite.Block, *rewrite.Histogram) {},
		"two queries": func(_ *rewrite.Plan, k *rewrite.Block, h *rewrite.Histogram) {
			other := rewrite.Histogram{Measure: h.Measure, Releases: h.Releases[1:]}
			h.Releases = h.Releases[:1]
			k.Histograms = append(k.Histograms, other)
		},
		"no query":   func(_ *rewrite.Plan, _ *rewrite.Block, h *rewrite.Histogram) { h.Releases = h.Releases[:1] },
		"two blocks": func(p *rewrite.Plan, k *rewrite.Block, _ *rewrite.Histogram) { p.Blocks = append(p.Blocks, *k) },
		"two layers": func(_ *rewrite.Plan, k *rewrite.Block, h *rewrite.Histogram) { k.Releases[h.Releases[1]].Layer = 7 },
	} {
		p := plan()
		k := &p.Blocks[0]
		if of == "" && len(mechanism.Families(k.Releases)) != 1 {
			t.Fatal("no family")
		}
		change(p, k, &k.Histograms[0])
		if err := gate.New(theWorld.schema, p).Err(); (err == nil) != (of == "") {
			t.Errorf("%s: %v", of, err)
		}
	}
}

// TestChainsAreOfOneLayer: a chain is charged for what a unit moves all of its parts by, so certify has to find that these
// read rows which exclude each other.
func TestChainsAreOfOneLayer(t *testing.T) {
	plan := func() *rewrite.Plan {
		asked, err := theWorld.then().ask(
			"SELECT ward, count(*), count(*) FILTER (WHERE minutes > 30), count(*) FILTER (WHERE minutes > 60) FROM visits GROUP BY ward", nil)
		if err != nil {
			t.Fatal(err)
		}
		return asked.plan
	}
	edit := func(old, now string) func(k *rewrite.Block) {
		return func(k *rewrite.Block) {
			if !strings.Contains(k.Measure.Text, old) {
				t.Fatal(k.Measure.Text)
			}
			k.Measure.Text = strings.Replace(k.Measure.Text, old, now, 1)
		}
	}
	for of, change := range map[string]func(k *rewrite.Block){
		"":             func(*rewrite.Block) {},
		"two layers":   func(k *rewrite.Block) { k.Releases[2].Layer = 7 },
		"no layer":     func(k *rewrite.Block) { k.Releases[0].Layer = 0 },
		"two places":   func(k *rewrite.Block) { k.Releases[0].Place = 1 },
		"a part of it": func(k *rewrite.Block) { k.Releases[0].Chain, k.Releases[0].Place = 0, 0 },
		"less in all":  func(k *rewrite.Block) { k.Releases[1].Total-- },
		"all rows":     edit(` AND ((t1."minutes" OPERATOR(pg_catalog.>) 60)) IS NOT TRUE`, ""),
		"fewer left":   edit("30)) IS NOT TRUE", "90)) IS NOT TRUE"),
	} {
		p := plan()
		if of == "" && len(mechanism.Chains(p.Blocks[0].Releases)) != 1 {
			t.Fatal("no chain")
		}
		change(&p.Blocks[0])
		if err := gate.New(theWorld.schema, p).Err(); (err == nil) != (of == "") {
			t.Errorf("%s: %v", of, err)
		}
	}
}
