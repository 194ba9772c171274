package demo

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/dpproxy/dpproxy/internal/policy"
)

// comparison says how the answer to a query is held against the truth.
type comparison struct {
	truth      string // what was asked, without rounding, order and limit, and after it what tolerances read
	grouped    bool   // the first column is the group's key, and the answer is ordered by the next, greatest first
	tolerances func(noise, []float64) []float64
}

// comparisons are those of queries, but the last, which is refused.
var comparisons = []comparison{
	{"SELECT count(*), avg(age), count(age) FROM patients WHERE smoker", false, func(n noise, truth []float64) []float64 {
		return []float64{n.count(2), n.average(2, n.age, truth[2]) + 0.05} // rounded to a tenth
	}},
	{
		"SELECT diagnosis, count(*), avg(income), count(income) FROM patients GROUP BY diagnosis", true,
		func(n noise, truth []float64) []float64 {
			return []float64{n.count(3), n.average(3, n.income, truth[2]) + 0.5}
		},
	},
	{"SELECT ward, sum(cost) FROM visits GROUP BY ward", true, func(n noise, truth []float64) []float64 {
		return []float64{n.sum(truth[0])}
	}},
}

// noise knows how far answers may be from the truth.
type noise struct {
	epsilon     float64 // of a statement
	age, income float64 // widths of the columns' bounds
	cost        float64 // the most that one patient's visits cost
	whole       bool    // all patients were loaded
}

// tail is t in exp(−t), the probability that Laplace noise of scale 1 is beyond t: 1.5e-8, and 21 numbers with at most
// two noises each are compared, so that a right answer fails with a probability below 1e-6. Mechanisms other than
// Laplace's are taken only where their expected error is less, and all have lighter tails so far out.
const tail = 18

// share is how far a ward's costs may be off. The least of the three greatest wards is surgery with 56 million, of
// which 2.8 million are 5 %. The policy's per_unit leaves 0.6 million out, as those who cost more than it are often
// there. The rest is 9 standard deviations of the Gaussian noise that a budget of (20, 1e-6) brings.
const share = 0.05

func (d *demo) noise() (noise, error) {
	n := noise{epsilon: d.policy.Defaults.Epsilon, whole: d.options.Patients <= 0 || d.options.Patients >= Patients}
	patients, visits := d.policy.Table(policy.Name{Schema: "public", Relation: "patients"}),
		d.policy.Table(policy.Name{Schema: "public", Relation: "visits"})
	for _, c := range []struct {
		bounds *policy.Bounds
		into   *float64
	}{
		{patients.Column("age").Bounds, &n.age},
		{patients.Column("income").Bounds, &n.income},
		{visits.Column("cost").PerUnit, &n.cost},
	} {
		lo, err := strconv.ParseFloat(c.bounds.Lo, 64)
		if err != nil {
			return n, err
		}
		hi, err := strconv.ParseFloat(c.bounds.Hi, 64)
		if err != nil {
			return n, err
		}
		*c.into = hi - lo
	}
	return n, nil
}

// count is the tolerance of a count, one of so many releases of a statement: none has less than its part of ε.
func (n noise) count(releases float64) float64 { return tail * releases / n.epsilon }

// average is that of an average over so many rows. The sum of values less the middle of the bounds has half the bounds'
// width as its sensitivity, and so far a wrong count moves the average too.
func (n noise) average(releases, width, rows float64) float64 {
	c := n.count(releases)
	return c * width / math.Max(1, rows-c)
}

// sum is that of a sum of costs, a statement's only release.
func (n noise) sum(truth float64) float64 {
	if n.whole {
		return share * truth
	}
	return tail*n.cost/n.epsilon + share*truth
}

// read makes numbers of rows. Without groups the key is empty.
func (c comparison) read(rows [][][]byte) (map[string][]float64, error) {
	all := map[string][]float64{}
	for _, row := range rows {
		texts := make([]string, len(row))
		for i, v := range row {
			texts[i] = string(v)
		}
		key, numbers, err := c.numbers(texts)
		if err != nil {
			return nil, err
		}
		all[key] = numbers
	}
	return all, nil
}

func (c comparison) numbers(row []string) (key string, numbers []float64, err error) {
	if c.grouped {
		key, row = row[0], row[1:]
	}
	for _, text := range row {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return key, nil, err
		}
		numbers = append(numbers, x)
	}
	return key, numbers, nil
}

// compare reports numbers that are too far from the truth, and ranks that such distances do not explain.
func (c comparison) compare(n noise, a answer, truth map[string][]float64) error {
	var problems []error
	shown := map[string]bool{}
	last := math.Inf(1)
	for _, row := range a.rows {
		key, numbers, err := c.numbers(row)
		if err != nil {
			return err
		}
		exact, known := truth[key]
		if !known || shown[key] {
			return fmt.Errorf("there is no group %q, or it is there twice", key)
		}
		shown[key] = true
		tolerances := c.tolerances(n, exact)
		for i, t := range tolerances {
			if !(math.Abs(numbers[i]-exact[i]) <= t) {
				problems = append(problems, fmt.Errorf("%s: %v where the truth is %v, and more than %v is not to be expected", key,
					numbers[i], exact[i], t))
			}
		}
		if !c.grouped {
			continue
		}
		if numbers[0] > last {
			problems = append(problems, fmt.Errorf("%s: %v stands after %v", key, numbers[0], last))
		}
		last = numbers[0]
		for other, greater := range truth {
			if gap := greater[0] - exact[0]; !shown[other] && gap > tolerances[0]+c.tolerances(n, greater)[0] {
				problems = append(problems, fmt.Errorf("%s stands before %s, or instead of it: the truth is %v and %v", key, other,
					exact[0], greater[0]))
			}
		}
	}
	return errors.Join(problems...)
}
