package synthetic

import (
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// grid lists the values of a column within its bounds, as whole numbers of steps: of 10^-scale, days or seconds.
type grid struct {
	low, high int64
	array     string // type of an array of thresholds
	number    bool
	text      func(steps int64) string
}

// gridOf returns the grid of a column with bounds; false for one without, and for types that width_bucket does not
// order.
func gridOf(s *rewrite.Schema, c *rewrite.RelationColumn) (grid, bool) {
	if c.Bounds == nil {
		return grid{}, false
	}
	switch base := s.BaseType(c.Type); base {
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID:
		return number(c, 0, "int8[]"), true
	case pgtype.Float4OID, pgtype.Float8OID:
		return number(c, digitsOf(c), "float8[]"), true
	case pgtype.NumericOID:
		typmod := c.Typmod
		if t, ok := s.Types[c.Type]; ok && t.Kind == 'd' {
			typmod = s.Below(t).Typmod
		}
		if scale := int(typmod-4) & 0x7ff; typmod >= 4 && scale <= 6 {
			return number(c, scale, "numeric[]"), true
		}
		return number(c, digitsOf(c), "numeric[]"), true
	case pgtype.DateOID:
		return times(c, "date[]", time.DateOnly, 1, 24*time.Hour), true
	case pgtype.TimestampOID:
		return times(c, "timestamp[]", time.DateTime, 1e6, time.Second), true
	case pgtype.TimestamptzOID:
		return times(c, "timestamptz[]", time.DateTime+"Z07:00", 1e6, time.Second), true
	case pgtype.TimeOID:
		return times(c, "time[]", time.TimeOnly, 1e6, time.Second), true
	}
	return grid{}, false
}

// digitsOf gives a type without a scale so many decimals that its bounds are 10000 steps apart or more.
func digitsOf(c *rewrite.RelationColumn) int {
	width, _ := new(big.Rat).Sub(c.Bounds.Hi, c.Bounds.Lo).Float64()
	return min(max(0, 5-int(math.Ceil(math.Log10(math.Max(width, 1e-12))))), 12)
}

func number(c *rewrite.RelationColumn, scale int, array string) grid {
	step := new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil))
	g := within(c, step, array)
	g.number, g.text = true, func(n int64) string {
		digits := strconv.FormatInt(n, 10)
		if scale == 0 {
			return digits
		}
		sign := ""
		if n < 0 {
			sign, digits = "-", digits[1:]
		}
		if len(digits) <= scale {
			digits = strings.Repeat("0", scale+1-len(digits)) + digits
		}
		return sign + digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
	}
	return g
}

// times has one step for so many units of the bounds (days, or microseconds).
func times(c *rewrite.RelationColumn, array, layout string, units int64, step time.Duration) grid {
	g := within(c, new(big.Rat).SetInt64(units), array)
	g.text = func(n int64) string {
		return time.Unix(n*int64(step/time.Second), 0).UTC().Format(layout)
	}
	return g
}

// within are the steps within the bounds.
func within(c *rewrite.RelationColumn, step *big.Rat, array string) grid {
	floor := func(x *big.Rat) int64 {
		q := new(big.Rat).Quo(x, step)
		return new(big.Int).Div(q.Num(), q.Denom()).Int64() // Euclidean: the floor, as denominators are above 0
	}
	low := -floor(new(big.Rat).Neg(c.Bounds.Lo))
	return grid{low: low, high: max(low, floor(c.Bounds.Hi)), array: array}
}

// Cells of a grid: each value where there are up to singleCells of them, months where there are up to monthCells,
// else equalCells of equal width, and near 0 such as grow by a seventh each.
const (
	singleCells = 64
	monthCells  = 240
	equalCells  = 48
	growth      = 1.15
)

// cells divides a grid into ranges of steps, each up to the next one's first.
func (g grid) cells() []int64 {
	width := g.high - g.low + 1
	if width <= singleCells {
		return every(g.low, g.high+1, 1)
	}
	if g.array != "time[]" && !g.number {
		if months := g.months(); len(months) <= monthCells {
			return months
		}
	}
	equal := every(g.low, g.high+1, max(1, width/equalCells))
	if !g.number {
		return equal
	}
	marks := append(equal, 0, 1)
	for x := math.Max(1, float64(width)/1e4); x*(growth-1) < float64(width)/equalCells; x *= growth {
		marks = append(marks, int64(x), -int64(x))
	}
	return ascending(marks, g.low, g.high)
}

func every(from, to, step int64) []int64 {
	var list []int64
	for x := from; x < to; x += step {
		list = append(list, x)
	}
	return list
}

// months are the first steps of each.
func (g grid) months() []int64 {
	day := int64(1)
	if g.array != "date[]" {
		day = 24 * 60 * 60
	}
	list := []int64{g.low}
	first := time.Unix(g.low/day*24*60*60, 0).UTC()
	at := time.Date(first.Year(), first.Month(), 1, 0, 0, 0, 0, time.UTC)
	for len(list) <= monthCells {
		at = at.AddDate(0, 1, 0)
		x := at.Unix() / (24 * 60 * 60) * day
		if x > g.high {
			break
		}
		if x > g.low {
			list = append(list, x)
		}
	}
	return list
}

// ascending are the marks within a range, in order and each once, from its first step on.
func ascending(marks []int64, low, high int64) []int64 {
	marks = append(marks, low)
	slices.Sort(marks)
	marks = slices.DeleteFunc(marks, func(x int64) bool { return x < low || x > high })
	return slices.Compact(marks)
}
