package expr

import "testing"

// TestYears: extract(year) of microseconds, around eras and leap days.
func TestYears(t *testing.T) {
	for days, year := range map[int64]int64{
		0: 1970, -1: 1969, 18262: 2020, 18321: 2020, 18628: 2021, -719162: 1,
		-719163: -1, -719528: -1, -719529: -2, 2932896: 9999, 2932897: 10000,
	} {
		if got := yearOf(mul(rat(days), microsPerDay)); got.Cmp(rat(year)) != 0 {
			t.Errorf("day %d is in year %s, not %d", days, got.RatString(), year)
		}
	}
}
