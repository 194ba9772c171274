package loss

import "math"

// Ranks is a draw by ranks, anew in each group: PerRow is how far apart the log-ratios of two outputs can be for one
// row of a unit. Such a draw is of bounded range (Dong, Durfee and Rogers 2020).
type Ranks struct {
	Unit
	PerRow float64
}

// Quantile is what a row costs where a point has the weight exp(−κ·distance) of its ranks to those of a fraction, and
// outside times that on one side.
func Quantile(kappa, fraction, outside float64) float64 {
	return (1 + outside) * kappa * math.Max(fraction, 1-fraction) * up
}

// Cuts is what a row costs where all quantiles are drawn at once with the weight base^score, but for a factor of
// e^±slack.
func Cuts(base, slack float64) float64 { return -2*math.Log(base/up)*up + 4*slack }

// Bound is what one unit can cost in all groups together: star-shaped in its rows.
func (m Ranks) Bound(order float64) float64 {
	c := math.Min(m.Delta, m.Total)
	parts := m.Total / c * up
	if !m.Shared {
		parts = math.Min(parts, m.Groups)
	}
	return parts * Ranged(order, m.PerRow*c*up) * up
}

// Ranged is what a draw costs at most whose log-ratios lie within eps of each other: its divergences are those of
// randomised response, and of zCDP with ρ = ε²/8; its μ² that of randomised response at half of it (proposition 20).
func Ranged(order, eps float64) float64 {
	switch {
	case math.IsInf(order, 1):
		return eps
	case order == GDP:
		return Response(order, eps/2)
	}
	return math.Min(Response(order, eps), order*eps*eps/8*up)
}

// Vector is joint noise of several releases: x has the weight exp(−Kappa·N(x)), N the least k with every |x_a| ≤
// ⌊k·Moves_a/Shells⌋, for units of at most Rows rows in the whole answer.
type Vector struct{ Kappa, Shells, Rows float64 }

// Bound is what one unit can cost in all groups and coordinates together.
func (v Vector) Bound(order float64) float64 { return Response(order, v.Kappa*v.Shells*v.Rows*up) }

// Covers reports whether a release whose coordinate has such a move may be among them.
func (v Vector) Covers(u Unit, move float64) bool { return u.Row <= move && u.rows() <= v.Rows }

// KeptEpsilon is the ε of groups that are kept with the probability kept[n]/one where they have n units, and with 1
// beyond, but for delta in each; +Inf where no ε is enough. Both inequalities are those of neighbouring n, in whole
// numbers.
func KeptEpsilon(kept []uint64, one uint64, delta float64) float64 {
	step := uint64(math.Max(0, math.Min(delta, 1)) * float64(one))
	if len(kept) == 0 || kept[0] != 0 {
		return math.Inf(1)
	}
	worst := 1.0
	for n, p := range kept {
		next := one
		if n+1 < len(kept) {
			next = kept[n+1]
		}
		if next < p || next > one {
			return math.Inf(1)
		}
		if next > step {
			worst = math.Max(worst, float64(next-step)/float64(p))
		}
		if one-p > step {
			worst = math.Max(worst, float64(one-p-step)/float64(one-next))
		}
	}
	return math.Log(worst*up) * up
}

// Selection is what it costs to decide about all groups of a unit that each cost eps.
func (u Unit) Selection(order, eps float64) float64 { return u.most() * Response(order, eps) * up }

// Threshold is what it costs to decide by noise on the numbers of units of all groups, or on the sums of their weights,
// and the δ of a threshold: of groups that no other unit is in.
func (u Unit) Threshold(order float64, n Noise, least float64) (cost, delta float64) {
	if !n.valid() || n.endsTooSoon() || !(least >= u.Delta) {
		return math.Inf(1), 1
	}
	cost = u.alike(func(d float64) float64 { return n.Plain(order, d) })
	return cost, u.alike(func(d float64) float64 { return n.Tail(least - d) })
}

// Each is the most that a unit adds to each of its groups where these are j.
func (u Unit) Each(j float64) float64 {
	if u.Squares == 0 {
		return u.Delta
	}
	return math.Min(u.Delta, math.Floor(math.Sqrt(u.Squares/j)*up))
}

// alike is the largest j·f(d) over the numbers j of groups to each of which a unit adds d, for f that does not fall:
// that of every j below 128, and from there on of blocks of them, with the most groups and the largest d of each.
func (u Unit) alike(f func(d float64) float64) (most float64) {
	if u.Squares == 0 {
		return u.most() * f(u.Delta) * up
	}
	for j := 1.0; j <= u.most(); {
		next := j + math.Max(1, math.Floor(j/64))
		most = math.Max(most, math.Min(next-1, u.most())*f(u.Each(j)))
		j = next
	}
	return most * up
}
