package profile

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// grid is an ascending public list of values, as PostgreSQL reads them. It follows from a column's type alone.
type grid struct {
	values []string // what may be printed
	ends   []string // what may be printed as the upper end in place of values; nil: values
	// thresholds for the lower end: a value is at or above floors[i] if it is at or above values[i]; nil: values
	floors []string
	limits []string // thresholds for the upper end: a value is at or above limits[i] if it is above values[i]
	array  uint32   // type of the thresholds as an array
	of     string   // what is compared with them, of a value %s; empty: the value
}

// steps are those of a decade: neighbours are 1.2 times apart, about.
var steps = []string{"1", "1.2", "1.5", "1.8", "2.2", "2.7", "3.3", "3.9", "4.7", "5.6", "6.8", "8.2"}

// StepRatio is about how far apart two neighbours of a numeric grid are.
const StepRatio = 1.2

// decimal prints an exact number without an exponent.
func decimal(x *big.Rat) string {
	s := x.FloatString(12)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// power is 10^n.
func power(n int) *big.Rat {
	x := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(n, -n))), nil))
	if n < 0 {
		x.Inv(x)
	}
	return x
}

// Years are whole numbers far from 0 that lie close together: steps by a ratio would be centuries.
const firstYear, lastYear, yearStep = 1900, 2100, 5

// withYears puts the years among whole numbers that ascend, as far as they go.
func withYears(list []*big.Rat) []*big.Rat {
	most := list[len(list)-1]
	for y := int64(firstYear); y <= lastYear; y += yearStep {
		if x := new(big.Rat).SetInt64(y); x.Cmp(most) < 0 {
			list = append(list, x)
		}
	}
	slices.SortFunc(list, (*big.Rat).Cmp)
	return slices.CompactFunc(list, func(a, b *big.Rat) bool { return a.Cmp(b) == 0 })
}

// magnitudes lists the steps from 10^low up to most; with whole set, integers alone.
func magnitudes(low int, most *big.Rat, whole bool) []*big.Rat {
	var list []*big.Rat
	add := func(x *big.Rat) {
		if x.Cmp(most) <= 0 && (len(list) == 0 || x.Cmp(list[len(list)-1]) > 0) && (!whole || x.IsInt()) {
			list = append(list, x)
		}
	}
	for n := low; power(n).Cmp(most) <= 0; n++ {
		if whole && n == 0 { // 1.2 is none of them, and 7 is one
			for k := int64(1); k < 10; k++ {
				add(new(big.Rat).SetInt64(k))
			}
			continue
		}
		for _, s := range steps {
			x, _ := new(big.Rat).SetString(s)
			add(x.Mul(x, power(n)))
		}
	}
	return list
}

// rowsGrid are the numbers of rows that a unit may have: 1 to most.
func rowsGrid(most int) grid {
	g := grid{array: pgtype.Int8ArrayOID}
	top := new(big.Rat).SetInt64(int64(most))
	list := magnitudes(0, top, true)
	if list[len(list)-1].Cmp(top) < 0 {
		list = append(list, top)
	}
	for _, x := range list {
		g.values = append(g.values, decimal(x))
		g.limits = append(g.limits, decimal(new(big.Rat).Add(x, big.NewRat(1, 1))))
	}
	return g
}

// numberGrid has 0, the steps of both signs, up to times the most of a column, and, of whole numbers, years.
func numberGrid(n *number, times int64) grid {
	next := new(big.Rat)
	if n.exact {
		next = power(-n.scale)
	}
	sizes := magnitudes(-n.scale, product(n.most, times), n.scale == 0 && n.exact)
	var list []*big.Rat
	for i := len(sizes) - 1; i >= 0; i-- {
		list = append(list, new(big.Rat).Neg(sizes[i]))
	}
	list = append(append(list, new(big.Rat)), sizes...)
	if n.exact && n.scale == 0 {
		list = withYears(list)
	}
	g := grid{array: n.array}
	for _, x := range list {
		g.values = append(g.values, decimal(x))
		g.limits = append(g.limits, decimal(new(big.Rat).Add(x, next)))
	}
	return g
}

// monthGrid has the months. A range begins with one and ends with one.
func monthGrid(array uint32) grid {
	g := grid{array: array}
	last, zone := "", ""
	if array != pgtype.DateArrayOID {
		last = " 23:59:59.999999"
	}
	if array == pgtype.TimestamptzArrayOID {
		zone = " 00:00:00+00"
	}
	for day := time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() <= 2200; day = day.AddDate(0, 1, 0) {
		next := day.AddDate(0, 1, 0)
		g.values, g.limits = append(g.values, day.Format(time.DateOnly)), append(g.limits, next.Format(time.DateOnly)+zone)
		g.ends = append(g.ends, next.AddDate(0, 0, -1).Format(time.DateOnly)+last)
	}
	return g
}

// wholeYears is from how many years on a range of months is printed as one of years.
const wholeYears = 3

// nearZero is from how many times the lower end on the upper one is so far away that the range is printed from 0 on: it
// is hardly wider.
const nearZero = 10

// pair prints the range from what is in cell z of values to what is in cell y of limits; false where that is empty or a
// single value.
func (g grid) pair(z, y int) (low, high string, ok bool) {
	z, y = max(z-1, 0), min(y, len(g.values)-1)
	if g.ends == nil {
		low, high = g.values[z], g.values[y]
		from, isNumber := new(big.Rat).SetString(low)
		if to, _ := new(big.Rat).SetString(high); isNumber && from.Sign() > 0 && product(from, nearZero).Cmp(to) <= 0 {
			low = "0"
		}
		return low, high, z < y
	}
	low, high = g.values[z], g.ends[y]
	from, _ := strconv.Atoi(low[:4])
	to, _ := strconv.Atoi(high[:4])
	if to-from >= wholeYears {
		low, high = low[:4]+"-01-01", high[:4]+"-12-31"+high[len(time.DateOnly):]
	}
	return low, high, z <= y
}

// clockGrid has the quarters of an hour, and the last second of a day.
func clockGrid() grid {
	g := grid{array: pgtype.TimeArrayOID}
	for minute := 0; minute < 24*60; minute += 15 {
		v := fmt.Sprintf("%02d:%02d", minute/60, minute%60)
		g.values, g.limits = append(g.values, v), append(g.limits, v+":00.000001")
	}
	g.values, g.limits = append(g.values, "23:59:59"), append(g.limits, "23:59:59.000001")
	return g
}

// longest is the length of time, of either sign, up to which intervals are looked at.
const longest = "36525 days"

// durationGrid has lengths of time, of both signs, from a second to a century. They are compared as bounds are: by
// their seconds.
func durationGrid() grid {
	g := grid{array: pgtype.Float8ArrayOID, of: "extract(epoch FROM %s)::float8"}
	type length struct {
		name    string
		seconds int64
	}
	var list []length
	for _, unit := range []struct {
		name    string
		seconds int64
		counts  []int64
	}{
		{"seconds", 1, []int64{1, 2, 5, 10, 15, 20, 30, 45}},
		{"minutes", 60, []int64{1, 2, 5, 10, 15, 20, 30, 45}},
		{"hours", 3600, []int64{1, 2, 3, 4, 6, 8, 12, 18}},
		{"days", 86400, []int64{
			1, 2, 3, 4, 5, 7, 10, 14, 21, 30, 45, 60, 90, 120, 180, 270, 365, 500, 730, 1100, 1830, 2750,
			3660, 7310, 18270, 36525,
		}},
	} {
		for _, n := range unit.counts {
			list = append(list, length{fmt.Sprintf("%d %s", n, unit.name), n * unit.seconds})
		}
	}
	add := func(name string, seconds int64) {
		g.values = append(g.values, name)
		g.floors = append(g.floors, strconv.FormatInt(seconds, 10))
		g.limits = append(g.limits, decimal(new(big.Rat).Add(new(big.Rat).SetInt64(seconds), big.NewRat(1, 1_000_000))))
	}
	for _, l := range slices.Backward(list) {
		add("-"+l.name, -l.seconds)
	}
	add("0 days", 0)
	for _, l := range list {
		add(l.name, l.seconds)
	}
	return g
}

// compared is what is compared with the thresholds.
func (g grid) compared(value string) string {
	if g.of == "" {
		return value
	}
	return fmt.Sprintf(g.of, value)
}

// literal prints a list as a parameter of PostgreSQL.
func literal(list []string) []byte { return []byte("{" + strings.Join(quotedTimes(list), ",") + "}") }

// quotedTimes puts values with blanks into quotes.
func quotedTimes(list []string) []string {
	out := make([]string, len(list))
	for i, v := range list {
		if out[i] = v; strings.Contains(v, " ") {
			out[i] = `"` + v + `"`
		}
	}
	return out
}

// lower is the greatest value at or below what is in cell z, of width_bucket over values.
func (g grid) lower(z int) string { return g.values[max(z-1, 0)] }

// upper is the least value at or above what is in cell z, of width_bucket over limits.
func (g grid) upper(z int) string { return g.values[min(z, len(g.values)-1)] }

func product(x *big.Rat, k int64) *big.Rat { return new(big.Rat).Mul(x, new(big.Rat).SetInt64(k)) }

// times multiplies a decimal number.
func times(text string, k int64) string {
	x, ok := new(big.Rat).SetString(text)
	if !ok {
		panic("no number: " + text) // grids print numbers
	}
	return decimal(product(x, k))
}
