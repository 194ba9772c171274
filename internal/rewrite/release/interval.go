package release

import (
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/aggregate"
	"github.com/dpproxy/dpproxy/internal/rewrite/bind"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
)

// PlanIntervals computes intervals from the released value and public quantities (docs/mechanisms.md, section 8).
func (k *Block) PlanIntervals(b *relation.Base, list []bind.Interval) error {
	for _, i := range list {
		c := &k.Columns[i.Call]
		if b.Settings.Intervals && i.What != aggregate.DerivedStddev && !k.hasInterval(c) {
			k.Intervals = append(k.Intervals, query.F("CASE WHEN false THEN {} END", k.Outputs[i.Call]))
			continue
		}
		if len(c.Releases) == 0 || c.Choice {
			return b.Refuse(refusal.Interval, i.Node, "this aggregate has no interval", "")
		}
		first := k.Releases[c.Releases[0]]
		if i.What == aggregate.DerivedStddev {
			if !k.oneNoise(c) && first.Kind != mechanism.Quantile {
				return b.Refuse(refusal.Interval, i.Node, "noise_stddev is available for counts, sums, averages and quantiles",
					"Ask for noise_stddev of a count or an average of the same column instead.")
			}
			k.Intervals = append(k.Intervals, query.F("{} * {}::float8", k.deriveOf(i.Call, i.What),
				fmt.Sprintf("%g", stepOf(first))))
			continue
		}
		if !k.hasInterval(c) {
			return b.Refuse(refusal.Interval, i.Node,
				"intervals are available for counts, sums, averages, variances, correlations and single quantiles",
				"Ask for the interval of an average or a sum instead.")
		}
		if c.Moments != nil {
			k.Intervals = append(k.Intervals, k.momentEnd(i.Call, i.What))
			continue
		}
		k.Intervals = append(k.Intervals, k.intervalEnd(i.Call, i.What))
	}
	return nil
}

// oneNoise reports whether an aggregate is as far off as one release, which its formula grows with.
func (k *Block) oneNoise(c *Column) bool {
	first := k.Releases[c.Releases[0]]
	chained := first.Kind == mechanism.SumGivenCount && len(c.Releases) == 2
	return chained || len(c.Releases) == 1 && first.Kind != mechanism.SumGivenCount || c.Parts
}

func (k *Block) hasInterval(c *Column) bool {
	return len(c.Releases) > 0 && !c.Choice && (c.Moments != nil || k.oneNoise(c)) && c.Type != pgtype.BoolOID
}

// intervalEnd prints the aggregate's formula with its first release lowered or raised: every formula grows with that.
// NULL stays NULL, which GREATEST and LEAST would drop.
func (k *Block) intervalEnd(call int, what aggregate.Derived) query.Scalar {
	first, by := ReleasedColumn(k.Columns[call].Releases[0]), k.deriveOf(call, what)
	end := query.F("({} - {})", first, by)
	if what == aggregate.DerivedHigh {
		end = query.F("({} + {})", first, by)
	}
	return query.F("CASE WHEN {} IS NOT NULL THEN {} END", by, k.OutputOf(call, end))
}

// OutputOf prints the aggregate's formula with something in place of its first release.
func (k *Block) OutputOf(call int, first query.Scalar) query.Scalar {
	name := ReleasedColumn(k.Columns[call].Releases[0])
	return query.Map{Scalar: func(x query.Scalar) query.Scalar {
		if n, ok := x.(query.Name); ok && n == name {
			return first
		}
		return x
	}}.OfScalar(k.Outputs[call])
}

// Adds reports whether an aggregate over several groups is the sum of what one release of each is, whichever groups are
// shown.
func (k *Block) Adds(call int) bool {
	c := &k.Columns[call]
	return len(c.Releases) == 1 && k.Releases[c.Releases[0]].Kind == mechanism.Scalar && k.Source.Preserved == nil &&
		!k.Selected && !k.Source.Empty
}

// momentEnd prints an aggregate of moments less, or more, what it may be off, in its own unit, and within what it can
// be.
func (k *Block) momentEnd(call int, what aggregate.Derived) query.Scalar {
	c, sign := k.Columns[call], "-"
	if what == aggregate.DerivedHigh {
		sign = "+"
	}
	by := k.deriveOf(call, what)
	if c.Type == pgtype.NumericOID {
		by = query.F("{}::numeric", by)
	}
	end := query.F("({} "+sign+" {})", k.Outputs[call], by)
	if within := c.Moments.within(); within != "" {
		return query.F("CASE WHEN {} IS NOT NULL THEN "+within+" END", end, end)
	}
	return end
}

// within prints what keeps a value among those that the aggregate can have; empty where nothing has to.
func (m *Moments) within() string {
	switch m.Name {
	case "corr":
		return "GREATEST(-1::float8, LEAST(1::float8, {}))"
	case "regr_r2":
		return "GREATEST(0::float8, LEAST(1::float8, {}))"
	case "covar_pop", "covar_samp":
		return ""
	}
	return "GREATEST({}, 0)" // of a variance or a standard deviation
}

// deriveOf asks for a derived quantity of an aggregate and names its column.
func (k *Block) deriveOf(call int, what aggregate.Derived) query.Scalar {
	name := fmt.Sprintf("%s%d", what, call+1)
	for _, d := range k.Derived {
		if d.Name == name {
			return query.Name(name)
		}
	}
	column := &k.Columns[call]
	k.Derived = append(k.Derived, DerivedQuantity{name, column.Releases[0], column, what})
	return query.Name(name)
}
