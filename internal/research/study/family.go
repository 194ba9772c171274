package study

import (
	"context"
	"fmt"
	"math"

	"github.com/dpproxy/dpproxy/internal/mechanism"
)

// familyCase is quantiles of one column, drawn jointly or by halving, of which one unit has up to rows rows.
type familyCase struct {
	fractions []float64
	rows      int64
	g         mechanism.Guarantee
}

func familyCases() (list []familyCase) {
	for _, fractions := range [][]float64{{.25, .5, .75}, {.5, .9}, {.1, .2, .8, .95}, {.2, .4, .5, .6, .9}} {
		for rows := int64(1); rows <= 2; rows++ {
			for _, g := range []mechanism.Guarantee{{Epsilon: .5}, {Epsilon: 4}, {Epsilon: .3, Order: mechanism.Orders[24]}} {
				list = append(list, familyCase{fractions, rows, g})
			}
		}
	}
	return list
}

func (c familyCase) String() string {
	return fmt.Sprintf("quantiles %v, %d rows, epsilon %g at order %g", c.fractions, c.rows, c.g.Epsilon, c.g.Order)
}

// Quantiles that are drawn jointly have 2^jointDigits cells per point here, and released numbers of rows up to
// mostCount. Where such a family is drawn by halving, because many rows were released, it is charged the same.
const jointDigits, mostCount = 1, 30

// familyPoints is the length of the grid, and familyRows the most rows of the smaller of two neighbours.
const familyPoints, familyRows = 3, 3

// quantileFamilies compares what several quantiles are charged with all that up to rows rows can do to all small
// histograms, and to one with many rows at one point, whose parts both have a share of them.
func quantileFamilies() (Summary, error) {
	cases := familyCases()
	return tried(len(cases), func(i int) (Summary, error) { return cases[i].enumerate(cases[i].rows) })
}

// enumerate lets a unit have so many rows.
func (c familyCase) enumerate(rows int64) (Summary, error) {
	s := newSummary()
	var list []mechanism.Release
	var members []int
	for i, q := range c.fractions {
		list = append(list, mechanism.Release{
			Kind: mechanism.Quantile, Range: mechanism.Range{{Lo: 0, Hi: familyPoints - 1}}, Sensitivity: c.rows, Total: c.rows,
			Fraction: q, Family: 1,
		})
		members = append(members, i)
	}
	prepared, err := mechanism.PrepareVector(context.Background(), list, c.g)
	if err != nil {
		return s, fmt.Errorf("%v: %w", c, err)
	}
	s.Mechanisms++
	laws, curve := mechanism.NewFamilyDistributions(list, members, prepared), mechanism.Compose(list, prepared)
	joint, drawnJointly := mechanism.NewJointDistributions(prepared[0], jointDigits)
	if drawnJointly {
		curve = joint.Curve()
	}
	bases := append(smallHistograms(familyRows), mechanism.Histogram{
		{Step: 0, Count: 2},
		{Step: 1, Count: 30},
		{Step: 2, Count: 1},
	})
	for _, h := range bases {
		for _, unit := range smallHistograms(int(rows)) {
			at := fmt.Sprintf("%v, %v and %v", c, h, unit)
			compare(&s, checkFamilies, laws.Of(h), laws.Of(merged(h, unit)), curve, at)
			for count := int64(0); drawnJointly && count <= mostCount; count += 1 + count/5 {
				compare(&s, checkJointFamilies, joint.Of(h, count), joint.Of(merged(h, unit), count), curve,
					fmt.Sprintf("%s, %d released", at, count))
			}
		}
	}
	return s, nil
}

// compare holds two laws against what is charged.
func compare(s *Summary, kind int, p, q map[string]float64, curve mechanism.Curve, at string) {
	for _, i := range someOrders {
		found, claimed, rounding := math.Max(divergence(p, q, i), divergence(q, p, i)), curve.Pure, 1e-13
		if i >= 0 {
			a := mechanism.Orders[i]
			claimed, rounding = curve.Renyi[i], 1e-13*a/(a-1)
		}
		s.note(kind, found, claimed, rounding, at)
	}
}

// smallHistograms are all with up to rows rows.
func smallHistograms(rows int) (list []mechanism.Histogram) {
	var next func(step int64, left int, h mechanism.Histogram)
	next = func(step int64, left int, h mechanism.Histogram) {
		if step == familyPoints {
			list = append(list, append(mechanism.Histogram(nil), h...))
			return
		}
		for n := 0; n <= left; n++ {
			next(step+1, left-n, append(h[:len(h):len(h)], mechanism.Bin{Step: step, Count: int64(n)}))
		}
	}
	next(0, rows, nil)
	return list
}

// merged adds a unit's rows to those of others, which have a bin for each point.
func merged(h, unit mechanism.Histogram) mechanism.Histogram {
	out := append(mechanism.Histogram(nil), h...)
	for i, b := range unit {
		out[i].Count += b.Count
	}
	return out
}

// divergence is that of order Orders[i], or the largest log-ratio where i < 0.
func divergence(p, q map[string]float64, i int) float64 {
	most, sum := 0.0, 0.0
	for z, x := range p {
		most = math.Max(most, math.Log(x/q[z]))
		if i >= 0 {
			a := mechanism.Orders[i]
			sum += math.Exp(a*math.Log(x) + (1-a)*math.Log(q[z]))
		}
	}
	if i < 0 {
		return most
	}
	return math.Log(sum) / (mechanism.Orders[i] - 1)
}
