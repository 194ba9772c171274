package mechanism

import (
	"math"
	"sync"

	"github.com/dpproxy/dpproxy/internal/loss"
)

// Several quantiles that are drawn jointly, under a pure guarantee (after Gillenwater, Joseph and Kulesza 2021;
// docs/mechanisms.md, section 9): first the number of rows with Laplace noise, from which follow the numbers of rows
// that the parts between the quantiles should have, and then all cuts at once, by how far those that they have are from
// these. A row is in one part.
type jointQuantiles struct {
	grid      fineGrid
	fractions []uint64 // in 2^−20, rising
	count     *Prepared
	base      float64 // the weight of cuts is base^score, exactly
	powers    func() *powerTable
	most      int64 // rows, as they are released, up to which the cuts are drawn jointly; of more by halving
	epsilon   float64
	cuts      Curve // of what is drawn jointly after the number of rows
}

const (
	// jointWork bounds the time of a draw, and its memory to jointWork/8 numbers: k(k + 8) steps for each row.
	jointWork = 1 << 25
	// jointSlack bounds |ln| of the probability of all cuts over what their weights say (docs/mechanisms.md, section 9).
	jointSlack = 1.0 / (1 << 25)
	// slackShare bounds the share of a row's ε that the slack may take: 4 times jointSlack.
	slackShare = .01
	// jointGain is how much less the mean squared error has to be than that of halving.
	jointGain = .9
	// maxJointKappa is the most that a row counts: weights then fit their exponents for any number of rows.
	maxJointKappa = 4
	// mostJoint bounds the quantiles: more take too long.
	mostJoint = 32
)

// countShare is the part of a price that the number of rows takes: near the optimum for 3 to 20 quantiles, about which
// the error is flat.
func countShare(quantiles int) float64 { return .38 / math.Sqrt(float64(quantiles)) }

// prepareQuantiles prepares the quantiles of a family, sorted by their fractions: jointly where that errs clearly less
// than halving does.
func prepareQuantiles(list []Release, sorted []int, g Guarantee, out []*Prepared) error {
	joint := g.pure() && len(sorted) <= mostJoint && jointError(list, sorted) < jointGain*halvingError(list, sorted)
	if joint && prepareJointly(list, sorted, g, out) {
		return nil
	}
	return prepareFamily(list, sorted, 0, 1<<rankBits, g, out)
}

// prepareJointly is false where the price of a row is too small, or the noise of the number of rows too large.
func prepareJointly(list []Release, sorted []int, g Guarantee, out []*Prepared) bool {
	count, rest, k := g, g, len(sorted)
	count.Epsilon *= countShare(k)
	rest.Epsilon -= count.Epsilon
	r := list[sorted[0]]
	rows, err := Prepare(Release{
		Name: "rows of " + r.Name, Kind: Scalar, Range: Range{{0, limit}}, Sensitivity: r.Sensitivity, Total: r.Total,
		Groups: r.Groups, Layer: r.Layer,
		Choice: Choice{Laplace, Clamp, Tight},
	}, count)
	if err != nil {
		return false
	}
	if err := prepareFamily(list, sorted, 0, 1<<rankBits, rest, out); err != nil {
		return false
	}
	first := out[sorted[0]]
	v, task := first.rank.v, first.task
	parts := task.parts()
	row := target(rest.Epsilon) / parts / task.step()
	j := &jointQuantiles{
		grid: newFineGrid(v, first.rank.cellDigits()), count: rows, most: int64(jointWork / (k * (k + 8))),
		epsilon: g.Epsilon,
	}
	if 4*jointSlack > slackShare*row || 32*rows.Chosen().Scale > float64(j.most) {
		return false
	}
	kappa := math.Min(row/2-2*jointSlack, maxJointKappa)
	j.base = math.Exp(-kappa) * (1 + 1e-14) // which is far above the error of Exp
	j.powers = sync.OnceValue(func() *powerTable { return newPowerTable(j.base) })
	for _, i := range sorted {
		j.fractions = append(j.fractions, list[i].rank())
	}
	j.cuts = Curve{Pure: rest.Epsilon, Renyi: make([]float64, len(Orders))}
	for i, a := range Orders {
		j.cuts.Renyi[i] = parts * loss.Ranged(a, rest.Epsilon/parts) * (1 + renyiSlack)
	}
	for _, i := range sorted {
		p := *out[i]
		p.joint = j
		out[i] = &p
	}
	return true
}

// cellDigits is the logarithm of the cells of a point.
func (s *rankSampler) cellDigits() uint {
	digits := uint(0)
	for 1<<digits < s.cells {
		digits++
	}
	return digits
}

// jointError is the mean squared error of quantiles that are drawn jointly, in ranks, of a unit with one row and at a
// price of 1, where rows lie close. The k + 1 parts have Laplace errors that add up to that of the number of rows: a
// bridge.
func jointError(list []Release, sorted []int) (mean float64) {
	k := float64(len(sorted))
	s := countShare(len(sorted))
	kappa := (1 - s) / 2
	for j, i := range sorted {
		at := float64(j+1) / (k + 1)
		off := at - float64(list[i].rank())/(1<<rankBits)
		mean += (2*(k+1)*at*(1-at)/(kappa*kappa) + 2*off*off/(s*s)) / k
	}
	return mean
}

// halvingError is the same of halving. Each quantile has its own error, and shares those of the ends of its part.
func halvingError(list []Release, sorted []int) float64 {
	sum := 0.0
	var halve func(sorted []int, lo, hi, errLo, errHi, eps float64)
	halve = func(sorted []int, lo, hi, errLo, errHi, eps float64) {
		if len(sorted) == 0 {
			return
		}
		middle := len(sorted) / 2
		at := float64(list[sorted[middle]].rank())
		q, own := (at-lo)/math.Max(1, hi-lo), eps/float64(Levels(len(sorted)))
		delta := math.Max(q, 1-q)
		err := 8*delta*delta/(own*own) + (1-q)*(1-q)*errLo + q*q*errHi
		sum += err
		halve(sorted[:middle], lo, at, errLo, err, eps-own)
		halve(sorted[middle+1:], at, hi, err, errHi, eps-own)
	}
	halve(sorted, 0, 1<<rankBits, 0, 0, 1)
	return sum / float64(len(sorted))
}

// Jointly says whether a quantile is drawn jointly with the others of its family, and for what ε all of them were
// prepared then.
func (p *Prepared) Jointly() (epsilon float64, ok bool) {
	if p.joint == nil {
		return 0, false
	}
	return p.joint.epsilon, true
}
