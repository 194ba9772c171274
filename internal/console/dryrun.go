package console

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"
)

// dryRun is what EXPLAIN foretells of a question: free, and the same whatever the data.
type dryRun struct {
	Parameters []parameter // of the question: fields of the form

	Refused *refusal
	Free    bool   // nothing private is read
	All     string // what several statements take
	Plan    explanation
	Parts   []part
	Offers  []offer
	Chosen  price
}

// explanation is what the console reads of EXPLAIN (FORMAT JSON).
type explanation struct {
	Epsilon  float64   `json:"epsilon"`
	Delta    float64   `json:"delta"`
	Budget   *takes    `json:"budget"`
	Averages string    `json:"averages"`
	Refused  string    `json:"refused"`
	Fits     string    `json:"still_fits"`
	Cached   bool      `json:"cached"`
	Releases []release `json:"releases"`
	Plan     []string  `json:"plan"`
	LeftOut  string    `json:"left_out"`
	Empty    string    `json:"empty_groups"`
	Selected int64     `json:"group_threshold"`
	Groups   []string  `json:"groups"`
	Wide     string    `json:"wide"`
	Measure  []string  `json:"measure"`
	Workload string    `json:"workload"`
}

// takes is what the question would take of the budget.
type takes struct {
	Share  float64 `json:"share"`
	Left   float64 `json:"share_left"`
	Enough int     `json:"enough_for"`
	AtMost bool    `json:"at_most"`
}

// release is one of its releases.
type release struct {
	Name        string   `json:"name"`
	Kind        string   `json:"kind"`
	Sensitivity float64  `json:"sensitivity"`
	Range       string   `json:"valid_range"`
	Mechanism   string   `json:"mechanism"`
	Scale       float64  `json:"scale"`
	Margin      *float64 `json:"margin"`
	Wanted      float64  `json:"wanted_margin"`
	Sum         *sum     `json:"sum"`
	Density     *law     `json:"density"`
	Unit        string   `json:"unit"` // what the numbers count: microseconds or days; empty: themselves
}

// sum is made of a release and its count.
type sum struct {
	Name   string  `json:"name"`
	Margin float64 `json:"margin"`
}

// Kinds of releases (mechanism.Kind).
const (
	kindScalar  = "scalar"
	kindChained = "chained" // a sum whose range follows from a released count: an average
)

// part is a release as a page shows it.
type part struct {
	Name, Margin, How string
	Range             string
	Density           *density
}

// offer is what another price would buy: the margins of the scalar releases.
type offer struct {
	Epsilon float64
	Margins []string
	Chosen  bool
}

const explainPrefix = "EXPLAIN (FORMAT JSON) "

// explain makes a dry run of one statement at a price.
func (p askPage) explain(ctx context.Context, c *client, at price, st statement) (explanation, bool, error) {
	values, err := p.values(st)
	if err != nil {
		return explanation{}, false, err
	}
	a, err := c.ask(ctx, at, explainPrefix+st.SQL, values...)
	if err != nil {
		return explanation{}, false, err
	}
	defer a.release()
	if len(a.Rows) != 1 || len(a.Columns) != 1 {
		return explanation{}, false, fmt.Errorf("EXPLAIN gave %d rows", len(a.Rows))
	}
	var list []explanation
	if err := json.Unmarshal([]byte(a.Rows[0][0].Text), &list); err != nil || len(list) != 1 {
		return explanation{}, true, nil // a line that says so: nothing private is read
	}
	return list[0], false, nil
}

func (c *Console) dryRun(w http.ResponseWriter, r *http.Request, x *session) {
	d := c.dry(r, x, c.askPage(r))
	c.write(w, r, statusOf(d.Refused), "ask", "dryrun", &d)
}

// dry asks what the question would cost, and what it would at other prices.
func (c *Console) dry(r *http.Request, x *session, p askPage) dryRun {
	wrong, err := p.describe(r.Context(), x.client)
	d := dryRun{Chosen: p.Price, Parameters: p.Parameters}
	if err != nil {
		d.Refused = p.refused(err, wrong, 0)
		return d
	}
	if len(p.statements) > 1 {
		p.dryAll(r.Context(), x.client, &d)
		return d
	}
	st := p.statements[0]
	plan, free, err := p.explain(r.Context(), x.client, p.priceOf(st), st)
	if err != nil {
		d.Refused = p.refused(err, st, utf8.RuneCountInString(explainPrefix))
		return d
	}
	d.Plan, d.Free = plan, free
	for _, rel := range plan.Releases {
		d.Parts = append(d.Parts, rel.part())
		if s := rel.Sum; s != nil && s.Name != rel.Name { // beside an average
			d.Parts = append(d.Parts, part{Name: s.Name, Margin: "±" + rel.amount(s.Margin), How: rel.Mechanism})
		}
	}
	if len(offerMargins(plan)) > 0 {
		d.Offers = c.offers(r.Context(), x.client, p, plan)
	}
	return d
}

// offers are the margins at prices around the one that is chosen. The client's other requests wait meanwhile: there are
// few.
func (c *Console) offers(ctx context.Context, conn *client, p askPage, plan explanation) []offer {
	var list []offer
	at := nearest(p.Prices, plan.Epsilon)
	steps := []int{at - 4, at - 2, at, at + 2, at + 4}
	if last := len(p.Prices) - 1; at < last && at+2 > last {
		steps[3] = last
	}
	for _, i := range steps {
		if i < 0 || i >= len(p.Prices) {
			continue
		}
		if i == at && p.Price.Margin == "" {
			list = append(list, offer{plan.Epsilon, offerMargins(plan), true})
			continue
		}
		st := p.statements[0]
		at := price{Epsilon: strconv.FormatFloat(p.Prices[i], 'g', -1, 64), Sets: st.Sets}
		other, _, err := p.explain(ctx, conn, at, st)
		if err == nil {
			list = append(list, offer{p.Prices[i], offerMargins(other), false})
		}
	}
	return list
}

// offerMargins are the margins that are known before anything is released.
func offerMargins(x explanation) []string {
	var out []string
	for _, r := range x.Releases {
		if m := r.margin(); m != "" {
			m, _, _ = strings.Cut(m, " over ") // the release itself says over how many
			out = append(out, strings.Replace(m, "about ±", "≈ ±", 1))
		}
	}
	return out
}

// part describes a release in the words of its column.
func (r release) part() part {
	p := part{Name: r.Name, Margin: r.margin(), Range: r.Range}
	if p.Range == "groups with enough units" {
		p.Range = ""
	}
	p.How = r.Mechanism
	if r.Kind == kindScalar && r.Margin != nil && r.Unit == "" {
		p.Density = densityOf(r)
	}
	if r.Kind == kindChained || r.Unit != "" {
		p.Range = ""
	}
	return p
}

// amount prints a distance between values of a release.
func (r release) amount(v float64) string {
	switch r.Unit {
	case "":
		return number(v)
	case "microseconds":
		return duration(v / 1e6)
	}
	return number(v) + " " + r.Unit
}

// example is a number of rows for which the margin of an average is shown: it falls as they grow.
const example = 1000

// margin says how far a released value may be off; empty where nothing is known before.
func (r release) margin() string {
	switch {
	case r.Wanted > 0:
		return "±" + r.amount(r.Wanted) + " where enough rows count"
	case r.Margin != nil:
		return "±" + r.amount(*r.Margin)
	case r.Sum != nil && r.Sum.Name == r.Name:
		return "±" + r.amount(r.Sum.Margin)
	case r.Kind == kindChained && r.Scale > 0:
		// The noise of the sum, which is taken around the middle of the bounds, over the rows. That of their number adds
		// little.
		return fmt.Sprintf("about ±%s over %s rows", r.amount(quantile95(r.Mechanism)*r.Scale/example), number(example))
	}
	return ""
}

// quantile95 is the distance, in scales, that 95% of the noise does not exceed.
func quantile95(mechanism string) float64 {
	if strings.HasPrefix(mechanism, "laplace") {
		return math.Log(20)
	}
	return 1.96
}

// priceSteps are the steps of the slider below the highest price; each is a √2 of the one before.
const priceSteps = 12

// prices are what the slider offers: from a 64th of the most that a statement may cost up to it, and among them the
// policy's own.
func prices(own, most float64) []float64 {
	list := make([]float64, priceSteps+1)
	for i := range list {
		list[i] = rounded(most * math.Exp2(float64(i-priceSteps)/2))
	}
	list[priceSteps] = most
	list[nearest(list, own)] = own
	return list
}

// rounded leaves two significant digits, rounded down: the greatest of a list must not rise.
func rounded(v float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(v))-1)
	f, _ := strconv.ParseFloat(strconv.FormatFloat(math.Floor(v/unit+1e-9)*unit, 'g', 6, 64), 64)
	return f
}

func nearest(list []float64, v float64) int {
	best := 0
	for i, p := range list {
		if math.Abs(math.Log(p/v)) < math.Abs(math.Log(list[best]/v)) {
			best = i
		}
	}
	return best
}
