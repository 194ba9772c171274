package profile

import (
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/accounting"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/policy"
)

func TestGridsAscend(t *testing.T) {
	for name, g := range map[string]grid{
		"rows":     rowsGrid(mostRows),
		"more":     rowsGrid(12345),
		"integers": numberGrid(&number{0, true, big.NewRat(1<<31-1, 1), pgtype.NumericArrayOID}, 1),
		"sums":     numberGrid(&number{2, true, power(8), pgtype.NumericArrayOID}, 1000),
		"floats": numberGrid(anyNumber(&policy.Column{Bounds: &policy.Bounds{Lo: "0", Hi: "0.003"}}, pgtype.Float8ArrayOID),
			1),
		"billions": numberGrid(anyNumber(&policy.Column{}, pgtype.Float8ArrayOID), 1000),
	} {
		if len(g.values) != len(g.limits) || len(g.values) > 10000 {
			t.Errorf("%s: %d values, %d limits", name, len(g.values), len(g.limits))
		}
		for _, list := range [][]string{g.values, g.limits} {
			for i := 1; i < len(list); i++ {
				a, _ := new(big.Rat).SetString(list[i-1])
				b, _ := new(big.Rat).SetString(list[i])
				if a.Cmp(b) >= 0 {
					t.Fatalf("%s: %s comes before %s", name, list[i-1], list[i])
				}
				if x, _ := a.Float64(); x >= 10 {
					if y, _ := b.Float64(); y/x > 1.26 {
						t.Errorf("%s: %s and %s are far apart", name, list[i-1], list[i])
					}
				}
			}
		}
		t.Logf("%s: %d values, %s to %s", name, len(g.values), g.values[0], g.values[len(g.values)-1])
	}
}

// TestDurationsAscend: thresholds ascend as what is printed does.
func TestDurationsAscend(t *testing.T) {
	g := durationGrid()
	seconds := map[string]int64{"seconds": 1, "minutes": 60, "hours": 3600, "days": 86400}
	last := math.Inf(-1)
	for i, v := range g.values {
		n, unit, _ := strings.Cut(v, " ")
		count, err := strconv.ParseInt(n, 10, 64)
		floor, err2 := strconv.ParseFloat(g.floors[i], 64)
		limit, err3 := strconv.ParseFloat(g.limits[i], 64)
		if err != nil || err2 != nil || err3 != nil || floor != float64(count*seconds[unit]) ||
			!(last < floor && floor < limit) {
			t.Errorf("%s: at or above %s, above %s", v, g.floors[i], g.limits[i])
		}
		last = limit
	}
}

// TestCellsHoldTheirValues: a value lies between the lower and the upper end of its cells, and on a grid value both are
// it.
func TestCellsHoldTheirValues(t *testing.T) {
	g := numberGrid(&number{0, true, big.NewRat(1000, 1), pgtype.NumericArrayOID}, 1)
	cell := func(list []string, x float64) int { // as width_bucket
		return len(list) - len(slices.DeleteFunc(slices.Clone(list), func(v string) bool {
			f, _ := strconv.ParseFloat(v, 64)
			return f <= x
		}))
	}
	for x := -1000; x <= 1000; x++ {
		low, _ := strconv.Atoi(g.lower(cell(g.values, float64(x))))
		high, _ := strconv.Atoi(g.upper(cell(g.limits, float64(x))))
		if low > x || high < x || slices.Contains(g.values, strconv.Itoa(x)) && low != high {
			t.Errorf("%d lies in [%d, %d]", x, low, high)
		}
	}
}

// TestYearsAreFound: birth years of 1920 to 2005 get bounds that are no wider than a few years.
func TestYearsAreFound(t *testing.T) {
	g := numberGrid(&number{0, true, big.NewRat(1<<15-1, 1), pgtype.NumericArrayOID}, 1)
	below := slices.Index(g.values, "1920")
	above := slices.Index(g.values, "2005")
	if below < 0 || above < 0 || g.limits[above] != "2006" || g.values[below+1] != "1925" {
		t.Errorf("the grid has %v", g.values)
	}
	if small := numberGrid(&number{0, true, big.NewRat(100, 1), pgtype.NumericArrayOID}, 1); slices.Contains(small.values, "1920") {
		t.Errorf("numbers up to 100 have %v", small.values)
	}
}

func TestFloatsAreSeenAsTheirBoundsSay(t *testing.T) {
	for _, c := range []struct {
		bounds *policy.Bounds
		scale  int
		most   int
	}{
		{nil, 3, 9},
		{&policy.Bounds{Lo: "0", Hi: "1000"}, 6, 6},
		{&policy.Bounds{Lo: "-20", Hi: "1"}, 7, 5},
		{&policy.Bounds{Lo: "0", Hi: "1e30"}, -3, 15},
	} {
		if n := anyNumber(&policy.Column{Bounds: c.bounds}, 0); n.scale != c.scale || n.most.Cmp(power(c.most)) != 0 {
			t.Errorf("%+v: scale %d, most %s", c.bounds, n.scale, n.most)
		}
	}
}

// TestPartsCostWhatOneStatementCosts: under pure the parts of ε add up; under rdp their parts of the budget do.
func TestPartsCostWhatOneStatementCosts(t *testing.T) {
	p := &policy.Policy{
		Accounting: policy.Accounting{Method: policy.RDP, SelectionDeltaShare: 0.5},
		Budget:     &policy.Budget{Epsilon: 40, Delta: 1e-6},
	}
	price := func(part float64) float64 {
		q := &question{weight: 1}
		return shares{p, 1}.among([]*question{q}, part)(q)
	}
	room := accounting.RoomOf(ledger.ConfigOf(p), policy.ProfileAccount)
	whole, _ := room.Share(mechanism.LaplaceCurve(1))
	sum := 0.0
	for range 20 {
		share, _ := room.Share(mechanism.LaplaceCurve(price(1. / 20)))
		sum += share
	}
	if sum > whole || sum < whole*(1-1e-6) {
		t.Errorf("20 parts take %g of the budget, one statement %g", sum, whole)
	}
	p.Accounting.Method = policy.Pure
	if e := price(0.25); e != 0.25 {
		t.Errorf("a quarter under pure is %g", e)
	}
}

func TestSharesAreRoundedUp(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", -1: "0", 0.0231: "0.024", 0.024: "0.024", 0.5: "0.5",
		0.001234: "0.0013", 0.0999: "0.1",
	} {
		if got, ok := atMost(x); got != want || !ok {
			t.Errorf("%g is %s, want %s", x, got, want)
		}
	}
	for _, x := range []float64{0.99, 2, math.NaN(), math.Inf(1)} {
		if got, ok := atMost(x); ok {
			t.Errorf("%g is %s", x, got)
		}
	}
}
