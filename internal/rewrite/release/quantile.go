package release

import (
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/aggregate"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

func (b *Planner) planQuantile(k *Block, c *aggregate.Call) (query.Scalar, []int, error) {
	e := c.Args[0]
	if !pgresolve.IsNumber(c.Type) && c.Type != pgtype.DateOID && (!pgresolve.IsTime(c.Type) || c.Type == pgtype.TimeOID) {
		return nil, nil, refusal.New(refusal.ReturnsValues, fmt.Sprintf("%s would return a value of a private row", c.Text),
			pgerr.Hint("Ask for min, max and percentiles of numbers, dates and times with bounds."))
	}
	a, err := b.measured(k, c, e)
	if err != nil {
		return nil, nil, err
	}
	switch c.Name {
	case "min":
		c.Fractions = []float64{0}
	case "max":
		c.Fractions = []float64{1}
	}
	condition := c.Condition(aggregate.NotNull(e))
	step, _ := a.Step.Float64()
	var uses []int
	var values []query.Scalar
	for _, q := range c.Fractions {
		if c.Descending {
			q = 1 - q
		}
		i, isNew := k.release(fmt.Sprintf("quantile %s %s %g", query.Key(a.SQL), query.Key(condition), q),
			func() mechanism.Release {
				r := mechanism.Release{
					Name: c.Text, Kind: mechanism.Quantile, Range: mechanism.Range{{Lo: a.Lo, Hi: a.Hi}},
					Sensitivity: k.Source.MaxRowsPerUnit, Choice: k.choice(a.Policy), Grid: mechanism.Grid{Step: step}, Fraction: q,
				}
				if r.Extreme() && !k.Single() {
					r.Sensitivity, r.Total = 1, k.MaxPartitionsContributed
				}
				return r
			})
		if isNew {
			k.histogram(a.SQL, condition, i)
		}
		uses = append(uses, i)
		values = append(values, convert(c.Type, query.F("{}::numeric", k.orNull(ReleasedColumn(i))), a.Step))
	}
	if !c.Array {
		if len(values) != 1 {
			return nil, nil, refusal.New(refusal.AggregateForm, "a percentile needs one fraction")
		}
		return values[0], uses, nil
	}
	return query.F("ARRAY[{}]", query.List{Between: ", ", Of: values}), uses, nil
}

// quantileEnd releases an end of the interval of a quantile, if it is asked for: at a rank which is further out by what
// noise may hide, and by the share of rows that is left out (docs/privacy.md P16c). It returns −1 where there is none:
// where that share is unknown, or the least or the greatest value is asked for.
func (k *Block) quantileEnd(c *aggregate.Call, of int, what aggregate.Derived) int {
	q, share := k.Releases[of], new(float64)
	if !k.Source.Proven {
		_, share = k.LeftOut()
	}
	if !slices.Contains(c.Ends, what) || q.Extreme() || k.PicksGroups || share == nil || *share >= 1 {
		return -1
	}
	i, isNew := k.release(fmt.Sprintf("%s end of quantile %d", what, of), func() mechanism.Release {
		r, lost := q, *share/(1-*share) // rows that are left out for each that is kept
		r.Name, r.CountRef, r.End, r.Fraction = fmt.Sprintf("%s end of %s", what, q.Name), of, -1,
			max(0, q.Fraction-(1-q.Fraction)*lost)
		if what == aggregate.DerivedHigh {
			r.End, r.Fraction = 1, min(1, q.Fraction+q.Fraction*lost)
		}
		return r
	})
	if isNew {
		h := slices.IndexFunc(k.Histograms, func(h Histogram) bool { return slices.Contains(h.Releases, of) })
		k.Histograms[h].Releases = append(k.Histograms[h].Releases, i)
	}
	return i
}

// families notes which quantiles are of the same rows: those between the ends are drawn together, and cost what one of
// them would on each level of halving (docs/privacy.md P16a).
func (k *Block) families() {
	rows := map[string][]int{} // releases of the histograms over the same rows
	for _, h := range k.Histograms {
		rows[h.rows] = append(rows[h.rows], h.Releases...)
	}
	number := 0
	for _, h := range k.Histograms {
		if h.Extreme != "" || k.Releases[h.Releases[0]].Family > 0 {
			continue
		}
		members := slices.DeleteFunc(rows[h.rows], func(i int) bool { return k.Releases[i].End != 0 })
		if len(members) < 2 || !slices.ContainsFunc(members, func(i int) bool { return !k.Releases[i].Extreme() }) {
			continue
		}
		number++
		together := 0
		for _, i := range members {
			if k.Releases[i].Family = number; k.Releases[i].InFamily() {
				together++
			}
		}
		for _, i := range members {
			if together > 1 && k.Releases[i].InFamily() {
				k.Releases[i].Weight = askedWeight * mechanism.Levels(together)
			}
		}
	}
}

// histogram adds a release to the histogram of its argument. The least and the greatest value are of what is the least
// or the greatest of each unit in a group, where it may have several rows (docs/privacy.md P16b).
func (k *Block) histogram(sql, where query.Scalar, release int) {
	extreme := ""
	if r := k.Releases[release]; r.Extreme() && !k.Single() {
		extreme = "min"
		if r.Fraction > .5 {
			extreme = "max"
		}
	}
	rows := query.Key(sql) + "\x00" + query.Key(where)
	key := extreme + "\x00" + rows
	i, ok := k.histograms[key]
	if !ok {
		i = len(k.Histograms)
		k.histograms[key] = i
		k.Histograms = append(k.Histograms, Histogram{
			SQL: sql, Where: where, MaxRowsPerUnit: k.Source.MaxRowsPerUnit,
			Extreme: extreme, rows: rows,
		})
	}
	k.Histograms[i].Releases = append(k.Histograms[i].Releases, release)
}
