package policy

import "testing"

// TestRowsPerGroup: what is said of a unit of time holds for what is part of it, and of nothing else.
func TestRowsPerGroup(t *testing.T) {
	times := &Column{MaxRowsPerGroup: map[string]int{"day": 2, "month": 5, "quarter": 4}}
	for unit, want := range map[string]int{"": 2, "hour": 2, "day": 2, "week": 0, "month": 4, "quarter": 4, "year": 0} {
		if got := times.RowsPerGroup(unit); got != want {
			t.Errorf("by %q: %d rows, want %d", unit, got, want)
		}
	}
	values := &Column{MaxRowsPerGroup: map[string]int{"": 3}}
	if values.RowsPerGroup("") != 3 || values.RowsPerGroup("day") != 0 || new(Column).RowsPerGroup("") != 0 {
		t.Error("what is said of values holds for them alone")
	}
}
