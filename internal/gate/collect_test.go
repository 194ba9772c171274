package gate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

func keyOf(fields ...string) []*rewrite.Canonical {
	out := make([]*rewrite.Canonical, len(fields))
	for i := range fields {
		if fields[i] != "NULL" {
			out[i] = (*rewrite.Canonical)(&fields[i])
		}
	}
	return out
}

func TestCollectorFillsDeclaredGroups(t *testing.T) {
	block := &rewrite.Block{
		Keys:     rewrite.KeyRows{keyOf("asthma"), keyOf("cold"), keyOf("flu")},
		Releases: make([]mechanism.Release, 2),
		Measured: []int{1, 0},
	}
	c := newCollector(block)
	// Main returns groups in any order and leaves empty ones out.
	for _, row := range []backend.MeasureRow{{Integers: []int64{3, 30, 31}}, {Integers: []int64{1, 10, 11}}} {
		if err := c.row(row); err != nil {
			t.Fatal(err)
		}
	}
	m := c.sorted()
	if diff := cmp.Diff([][]int64{{11, 0, 31}, {10, 0, 30}}, m.exact); diff != "" {
		t.Errorf("exact integers by release and group: %s", diff)
	}
	for _, bad := range []backend.MeasureRow{
		{Integers: []int64{0, 1, 1}},
		{Integers: []int64{4, 1, 1}},
		{Integers: []int64{1, 1}},
	} {
		if c.row(bad) == nil {
			t.Errorf("row %v was taken", bad.Integers)
		}
	}
}

// TestCollectorDropsKeys: main names groups by keys. Those that are not declared are dropped, and no two rows are one
// group.
func TestCollectorDropsKeys(t *testing.T) {
	block := &rewrite.Block{
		ByKey: true, KeyTypes: []uint32{25, 23}, Keys: rewrite.KeyRows{
			keyOf("asthma", "1"), keyOf("cold", "NULL"),
			keyOf("NULL", "1"),
		},
		Releases: make([]mechanism.Release, 2), Measured: []int{0}, Histograms: []rewrite.Histogram{{Releases: []int{1}}},
	}
	block.Releases[1].Kind = mechanism.Quantile
	c := newCollector(block)
	for _, row := range []backend.MeasureRow{
		{Keys: keyOf("NULL", "1"), Integers: []int64{3}},
		{Keys: keyOf("flu", "1"), Integers: []int64{9}},
		{Keys: keyOf("asthma", "1"), Integers: []int64{1}},
		{Keys: keyOf("asthma", "NULL"), Integers: []int64{9}},
	} {
		if err := c.row(row); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range []backend.MeasureRow{
		{Keys: keyOf("cold", "NULL"), Integers: []int64{4, 2}},
		{Keys: keyOf("cold", "1"), Integers: []int64{4, 2}},
	} {
		if err := c.bin(block.Histograms[0], row); err != nil {
			t.Fatal(err)
		}
	}
	m := c.sorted()
	if diff := cmp.Diff([]int64{1, 0, 3}, m.exact[0]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]mechanism.Histogram{nil, {{Step: 4, Count: 2}}, nil}, m.histograms[1]); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []backend.MeasureRow{
		{Keys: keyOf("asthma", "1"), Integers: []int64{1}},
		{Keys: keyOf("cold", "NULL"), Integers: []int64{1, 1}},
	} {
		if c.row(bad) == nil {
			t.Errorf("row %v was taken", bad.Integers)
		}
	}
}

func TestCollectorOrdersSelectedGroupsByKey(t *testing.T) {
	block := &rewrite.Block{
		Select: &mechanism.Release{}, KeyTypes: []uint32{25, 25},
		Releases: make([]mechanism.Release, 2), Measured: []int{0},
		Histograms: []rewrite.Histogram{{Releases: []int{1}}},
	}
	block.Releases[1].Kind = mechanism.Quantile
	c := newCollector(block)
	for _, row := range []backend.MeasureRow{
		{Keys: keyOf("b", "NULL"), Integers: []int64{7, 70}},
		{Keys: keyOf("a", "x"), Integers: []int64{5, 50}},
	} {
		if err := c.row(row); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []int64{9, 4} {
		if err := c.bin(block.Histograms[0], backend.MeasureRow{Keys: keyOf("b", "NULL"), Integers: []int64{step, 1}}); err != nil {
			t.Fatal(err)
		}
	}
	m := c.sorted()
	if diff := cmp.Diff([]int64{5, 7}, m.units); diff != "" {
		t.Errorf("units: %s", diff)
	}
	if diff := cmp.Diff([]int64{50, 70}, m.exact[0]); diff != "" {
		t.Errorf("exact: %s", diff)
	}
	want := mechanism.Histogram{{Step: 4, Count: 1}, {Step: 9, Count: 1}}
	if diff := cmp.Diff(want, m.histograms[1][1]); diff != "" {
		t.Errorf("histogram: %s", diff)
	}
}

func keyName(key []*rewrite.Canonical) string { return string(schema.AppendKeyName(nil, key)) }

func TestKeyNamesAreDistinct(t *testing.T) {
	names := map[string][]*rewrite.Canonical{}
	for _, k := range [][]*rewrite.Canonical{
		keyOf("a", "b"), keyOf("ab", ""), keyOf("", "ab"), keyOf("NULL", "ab"),
		keyOf("1:a"), keyOf("a"),
		{},
		keyOf("NULL"), keyOf("-;"),
	} {
		if other, taken := names[keyName(k)]; taken {
			t.Errorf("%v and %v have the same name", k, other)
		}
		names[keyName(k)] = k
	}
}

// TestCompareKeys: keys are ordered as their names are.
func TestCompareKeys(t *testing.T) {
	fields := []string{"NULL", "", "a", "b", "ab", "-;", "0123456789", "012345678", "01234567890", "é"}
	var keys [][]*rewrite.Canonical
	for _, a := range fields {
		for _, b := range fields {
			keys = append(keys, keyOf(a, b))
		}
	}
	list := rewrite.KeyRows(keys)
	for i, a := range keys {
		for j, b := range keys {
			if got, want := schema.CompareKeys(list, i, j, 2), strings.Compare(keyName(a), keyName(b)); got != want {
				t.Errorf("%q and %q compare as %d, their names as %d", keyName(a), keyName(b), got, want)
			}
			var name []byte
			for column := range a {
				name = schema.AppendKeyValue(name, list, i, column)
			}
			if string(name) != keyName(a) {
				t.Errorf("in the list %q has the name %q", keyName(a), name)
			}
		}
	}
}
