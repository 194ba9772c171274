package schema

import (
	"crypto/sha256"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func tableOf(rows [][]*Canonical, columns int) *Table {
	table := NewTable(columns)
	for _, row := range rows {
		table.Add(row)
	}
	return table
}

// TestTable: a table has the values that were added, NULL apart from the empty text, and no other table has its hash.
func TestTable(t *testing.T) {
	rows := func(lines ...string) (out [][]*Canonical) {
		for _, line := range lines {
			var row []*Canonical
			for _, field := range strings.Split(line, "|") {
				v := Canonical(field)
				if field == "NULL" {
					row = append(row, nil)
				} else {
					row = append(row, &v)
				}
			}
			out = append(out, row)
		}
		return out
	}
	seen := map[string]int{}
	for i, list := range [][][]*Canonical{
		rows("a|1", "|NULL", "ü|", "NULL|2"), rows("a|1"), rows("a1|"), rows("|a1"), rows("a1|NULL"), rows("NULL|NULL"),
		rows("|"), rows("a", "1"), rows("a1"), rows("a1", ""), rows("", "a1"), nil,
	} {
		width := 0
		if len(list) > 0 {
			width = len(list[0])
		}
		table := tableOf(list, width)
		if table.Len() != len(list) {
			t.Fatalf("table %d has %d rows", i, table.Len())
		}
		if diff := cmp.Diff(list, table.Rows(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("table %d as rows: %s", i, diff)
		}
		for r, row := range list {
			if diff := cmp.Diff(row, KeyRow(KeyRows(list), r, width)); diff != "" {
				t.Errorf("list %d, row %d: %s", i, r, diff)
			}
			for c, want := range row {
				if want == nil && !table.HoldsNull(c) {
					t.Errorf("table %d, column %d: its NULL is not known", i, c)
				}
			}
		}
		h := sha256.New()
		table.Hash(h)
		if other, known := seen[string(h.Sum(nil))]; known {
			t.Errorf("tables %d and %d have one hash", other, i)
		}
		seen[string(h.Sum(nil))] = i
	}
	if (*Table)(nil).Len() != 0 || (*Table)(nil).HoldsNull(0) || tableOf(rows("a", ""), 1).HoldsNull(0) {
		t.Error("rows or NULL where there are none")
	}
}
