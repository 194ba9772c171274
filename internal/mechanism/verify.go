package mechanism

import "math"

// Worst is what enumeration found: the largest value over pairs of neighbouring true values (S, T) and, for a
// log-ratio, the output Z where it happens.
type Worst struct {
	Value   float64
	S, T, Z int64
}

// Distribution is a mechanism on a small range, tabulated without any of the closed forms that calibration uses: the
// logarithms of the probabilities of all outputs for all true values.
type Distribution struct {
	Lo  int64       // first true value and first output
	Log [][]float64 // Log[s][z], −Inf where an output cannot happen
}

// verifyReach is where tabulation cuts off untruncated noise: outputs see images of weight below exp(−verifyReach) of
// the nearest one no more.
const verifyReach = 60

// Tabulate enumerates the released distribution of the chosen mechanism. It is meant for ranges of a few thousand
// steps.
func (p *Prepared) Tabulate() Distribution { return p.Chosen().tabulate() }

// Tabulate is Prepared.Tabulate for any candidate of a Scalar release with a finite range.
func (c Candidate) Tabulate() Distribution { return c.tabulate() }

func (d design) tabulate() Distribution {
	h := d.v.hull()
	n := int(h.span()) + 1
	t := Distribution{Lo: h.Lo, Log: make([][]float64, n)}
	var noisy []int
	var from int64
	logs := make([]float64, n)
	switch d.bounding {
	case Cells:
	case Truncate:
		for i := range logs {
			logs[i] = d.log(float64(i))
		}
	default:
		noisy, from = d.noisy(n)
	}
	for s := range t.Log {
		t.Log[s] = make([]float64, n)
		switch d.bounding {
		case Cells:
			d.cellsRow(t.Log[s], int64(s))
		case Truncate:
			d.truncatedRow(t.Log[s], int64(s), logs)
		default:
			d.imagesRow(t.Log[s], h.Lo+int64(s), noisy, from)
		}
	}
	return t
}

// truncatedRow fills in ln w(z−s) − ln Σ w over the valid set, from the tables of weights by distance.
func (d design) truncatedRow(row []float64, s int64, logs []float64) {
	for z := range row {
		row[z] = math.Inf(-1)
	}
	top := math.Inf(-1)
	for _, i := range d.v {
		for z := i.Lo - d.v[0].Lo; z <= i.Hi-d.v[0].Lo; z++ {
			row[z] = logs[absDiff(z, s)]
			top = math.Max(top, row[z])
		}
	}
	normalise(row, top)
}

// noisy lists, for every noisy value from from on, the output that it is mapped to. It is the same list for every true
// value, so that no noise is cut off for one of them alone.
func (d design) noisy(n int) (outputs []int, from int64) {
	far := d.distance(verifyReach)
	h := d.v.hull()
	from = h.Lo - int64(far) - 2*int64(n)
	for x := from; x <= h.Hi+int64(far)+2*int64(n); x++ {
		outputs = append(outputs, int(int64(d.post(float64(x)))-h.Lo))
	}
	return outputs, from
}

// imagesRow adds up the noise that bounding maps to each output.
func (d design) imagesRow(row []float64, s int64, noisy []int, from int64) {
	top := make([]float64, len(row))
	for i := range row {
		top[i] = math.Inf(-1)
	}
	for i, z := range noisy {
		top[z] = math.Max(top[z], d.log(float64(from+int64(i)-s)))
	}
	for i, z := range noisy {
		row[z] += math.Exp(d.log(float64(from+int64(i)-s)) - top[z])
	}
	all := math.Inf(-1)
	for z := range row {
		if row[z] == 0 {
			row[z] = math.Inf(-1)
		} else {
			row[z] = math.Log(row[z]) + top[z]
		}
		all = math.Max(all, row[z])
	}
	normalise(row, all)
}

func normalise(row []float64, top float64) {
	sum := 0.0
	for _, l := range row {
		if l > top-60 {
			sum += math.Exp(l - top)
		}
	}
	for z := range row {
		row[z] -= top + math.Log(sum)
	}
}

// RMSE is the root mean squared error over a uniform true value.
func (t Distribution) RMSE() float64 {
	sum := 0.0
	for s, row := range t.Log {
		for z, p := range row {
			sum += math.Exp(p) * float64((z-s)*(z-s))
		}
	}
	return math.Sqrt(sum / float64(len(t.Log)))
}

// LogRatio enumerates all pairs at the given distances and all outputs.
func (t Distribution) LogRatio(distances []int) Worst {
	w := Worst{Value: math.Inf(-1)}
	t.pairs(distances, func(s, u int) {
		p, q := t.Log[s], t.Log[u]
		for z := range p {
			if r := p[z] - q[z]; r > w.Value {
				w = Worst{r, t.Lo + int64(s), t.Lo + int64(u), t.Lo + int64(z)}
			}
		}
	})
	return w
}

// Renyi enumerates the divergence of order a over all pairs at the given distances.
func (t Distribution) Renyi(a float64, distances []int) Worst {
	w := Worst{Value: math.Inf(-1)}
	t.pairs(distances, func(s, u int) {
		p, q := t.Log[s], t.Log[u]
		top := math.Inf(-1)
		for z := range p {
			if !math.IsInf(p[z], -1) {
				top = math.Max(top, a*p[z]+(1-a)*q[z])
			}
		}
		sum := 0.0
		for z := range p {
			if !math.IsInf(p[z], -1) {
				sum += math.Exp(a*p[z] + (1-a)*q[z] - top)
			}
		}
		if r := (math.Log(sum) + top) / (a - 1); r > w.Value {
			w = Worst{Value: r, S: t.Lo + int64(s), T: t.Lo + int64(u)}
		}
	})
	return w
}

// HockeyStick enumerates δ(ε) over all pairs at the given distances.
func (t Distribution) HockeyStick(eps float64, distances []int) Worst {
	w := Worst{Value: math.Inf(-1)}
	t.pairs(distances, func(s, u int) {
		p, q := t.Log[s], t.Log[u]
		sum := 0.0
		for z := range p {
			if p[z] > q[z]+eps {
				sum += math.Exp(p[z]) - math.Exp(q[z]+eps)
			}
		}
		if sum > w.Value {
			w = Worst{Value: sum, S: t.Lo + int64(s), T: t.Lo + int64(u)}
		}
	})
	return w
}

func (t Distribution) pairs(distances []int, visit func(s, u int)) {
	for _, c := range distances {
		for s := 0; s+c < len(t.Log); s++ {
			visit(s, s+c)
			visit(s+c, s)
		}
	}
}

// Distances are all distances up to delta where that is cheap for a range of n points, else delta and a few below it:
// every divergence grows with the distance (docs/mechanisms.md, proposition 1).
func Distances(delta, n int) []int {
	delta = min(delta, n-1)
	var list []int
	if delta*n*n <= 1<<18 {
		for c := 1; c <= delta; c++ {
			list = append(list, c)
		}
		return list
	}
	for _, c := range []int{1, delta / 2, delta - 1, delta} {
		if c > 0 && (len(list) == 0 || c > list[len(list)-1]) {
			list = append(list, c)
		}
	}
	return list
}
