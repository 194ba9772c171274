package mechanism

import (
	"math"
	"slices"
)

// Layered says whether a release may share a layer's charge: its divergence, divided by the rows that cause it, must
// not fall with them. That holds for noise that is bounded afterwards and for quantiles; truncation costs most for the
// first row (docs/mechanisms.md, section 13).
func (r Release) Layered() bool {
	return r.Layer > 0 && r.Kind != Selection && r.Choice.Bounding != Truncate && r.Choice.Calibration != Paper
}

// layers groups the indices of a list by layer, and families of quantiles that are in none, in the order of the list.
// Releases that cannot share are alone.
func layers(list []Release) [][]int {
	type group struct{ layer, family int }
	var out [][]int
	at := map[group]int{}
	for i, r := range list {
		g := group{}
		switch {
		case r.Layered():
			g.layer = r.Layer
		case r.InFamily():
			g.family = r.Family
		default:
			out = append(out, []int{i})
			continue
		}
		k, known := at[g]
		if !known {
			k, at[g] = len(out), len(out)
			out = append(out, nil)
		}
		out[k] = append(out[k], i)
	}
	return out
}

// Compose is what a list of releases costs together: a layer costs, at every order, what the dearest of its members
// does, joint noise what one vector costs, and a family of quantiles what FamilyCurve says; everything else adds up.
// prepared[i] is the mechanism of list[i].
func Compose(list []Release, prepared []*Prepared) Curve {
	var total Curve
	vectors := map[*Cube]bool{}
	whole := map[int]Curve{} // of the first release of a family
	for _, sorted := range Families(list) {
		whole[slices.Min(sorted)] = FamilyCurve(sorted, prepared)
	}
	for _, members := range layers(list) {
		var layer Curve
		for _, i := range members {
			cube, _ := prepared[i].Joint()
			curve, first := whole[i]
			switch {
			case list[i].InFamily() && !first: // in its family's
			case first && list[i].Layered():
				layer = layer.max(curve)
			case first:
				total = total.Add(curve)
			case cube != nil && !vectors[cube]:
				vectors[cube] = true
				total = total.Add(PureCurve(cube.epsilon))
			case cube != nil:
			case prepared[i].release.Layered():
				layer = layer.max(prepared[i].Curve())
			default:
				total = total.Add(prepared[i].Curve())
			}
		}
		total = total.Add(layer)
	}
	return total
}

// Covers says that no order costs less than d does, but for a relative error of adding up. What is no number covers
// nothing, and nothing covers it.
func (c Curve) Covers(d Curve, rounding float64) bool {
	for i, r := range d.Renyi {
		if c.Renyi == nil && r != 0 || c.Renyi != nil && !(r <= c.Renyi[i]*(1+rounding)) {
			return false
		}
	}
	return d.Pure <= c.Pure*(1+rounding)
}

// max is the larger of two curves at every order.
func (c Curve) max(d Curve) Curve {
	out := Curve{Pure: math.Max(c.Pure, d.Pure), Renyi: append([]float64(nil), c.Renyi...)}
	if c.Renyi == nil {
		out.Renyi = append(out.Renyi, d.Renyi...)
		return out
	}
	for i := range d.Renyi {
		out.Renyi[i] = math.Max(out.Renyi[i], d.Renyi[i])
	}
	return out
}
