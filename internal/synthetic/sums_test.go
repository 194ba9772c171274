package synthetic

import (
	"math"
	"strconv"
	"testing"

	"github.com/dpproxy/dpproxy/internal/synthetic/model"
)

// TestCalibrate: cells have the sum that was asked as far as it says more than the counts, whatever the lowest value
// is; and few rows stay as they are where the sum is noise.
func TestCalibrate(t *testing.T) {
	for _, c := range []struct {
		name        string
		low         int64
		rows, asks  float64 // whose mean by the counts is 4.5 above low; the asked mean
		noise, want float64
	}{
		{"an exact sum", 0, 1000, 6, 1e-6, 6},
		{"below 0", -20, 1000, -14, 1e-6, -14},
		{"as good as the counts", 0, 1000, 6, math.Sqrt(285) * 20, 5.25},
		{"noise", 0, 1000, 6, 1e6, 4.5},
		{"few rows", 0, 1, 400, 350, 4.5},
	} {
		a := &attribute{grid: &grid{
			low: c.low, high: c.low + 9, text: func(n int64) string { return strconv.FormatInt(n, 10) },
		}, starts: every(c.low, c.low+10, 1)}
		cells := model.New(1, a.size())
		for cell := range a.starts {
			cells.At[cell] = c.rows / 10
			a.masses = append(a.masses, 1000)
		}
		a.masses = append(a.masses, 0)
		p := &pair{
			to: a, toBins: a.single(), asked: &count{noise: 20}, summed: &count{noise: c.noise}, sums: []float64{c.asks * c.rows},
		}
		p.calibrate(cells)
		sizes, low := a.sizes()
		got := low + moment(cells.At, sizes)/c.rows
		if math.Abs(got-c.want) > 0.06 || math.Abs(model.Sum(cells.At)-c.rows) > 1e-6*c.rows {
			t.Errorf("%s: a mean of %.3g, want %.3g", c.name, got, c.want)
		}
	}
}
