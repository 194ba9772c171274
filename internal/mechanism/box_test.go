package mechanism

import (
	"math"
	"testing"
)

// Table 1 of Chen and Hale: box [0,10]×[1,9], Δ = 2√5; the paper's two columns to 4 digits, and the tight one.
func TestTable1(t *testing.T) {
	const grid = 1 << 26
	lengths, delta := []float64{10 * grid, 8 * grid}, 2*math.Sqrt(5)*grid
	for _, row := range [][4]float64{
		{.1, 1320, 857.52, 290.9},
		{.5, 264, 170.27, 61.39},
		{1, 132, 84.38, 32.34},
		{1.5, 88, 55.77, 22.46},
		{2, 66, 41.47, 17.41},
		{2.5, 52.8, 32.90, 14.31},
		{3, 44, 27.20, 12.20},
	} {
		near(t, "generalised", GeneralisedGaussianVariance([]float64{10, 8}, []float64{4, 2}, row[0]), row[1], 1e-9)
		near(t, "paper", ChenHaleBoxVariance(lengths, delta, row[0])/(grid*grid), row[2], 2e-4)
		near(t, "tight", BoxVariance(lengths, delta, row[0])/(grid*grid), row[3], 5e-4)
	}
}
