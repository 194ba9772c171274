package policy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCommentsOfColumns(t *testing.T) {
	long := `dpproxy: {values: [` + strings.Repeat(`"a value that is long enough to fill a line", `, 3)[:40]
	for _, c := range []struct {
		comment, text string
		want          Column
		err           string
	}{
		{"Age in years.", "", Column{}, ""},
		{"see dpproxy: the proxy", "", Column{}, ""},
		{"xdpproxy: {bounds: [0, 1]}", "", Column{}, ""},
		{"Age in years. dpproxy: {bounds: [0, 120]}", "{bounds: [0, 120]}", Column{Bounds: &Bounds{"0", "120"}}, ""},
		{
			"Age.\ndpproxy: {bounds: [0, 120], per_unit: [0, 240]}\nOf people.", "{bounds: [0, 120], per_unit: [0, 240]}",
			Column{Bounds: &Bounds{"0", "120"}, PerUnit: &Bounds{"0", "240"}},
			"",
		},
		{
			`dpproxy: {values: ["in", 'out: #1']}`, `{values: ["in", "out: #1"]}`,
			Column{Values: []string{"in", "out: #1"}},
			"",
		},
		{"dpproxy: {bounds: [0, 120]}\r\nOf people.", "{bounds: [0, 120]}", Column{Bounds: &Bounds{"0", "120"}}, ""},
		{`dpproxy: {values: [x]} # more`, `{values: [x]}`, Column{Values: []string{"x"}}, ""},
		{
			`dpproxy: {values: ["a\n  evil: {public: true}"]}`, `{values: ["a\n  evil: {public: true}"]}`,
			Column{Values: []string{"a\n  evil: {public: true}"}},
			"",
		},
		{
			"dpproxy: {max_rows_per_unit_and_group: {day: 2}}", "{max_rows_per_unit_and_group: {day: 2}}",
			Column{MaxRowsPerGroup: map[string]int{"day": 2}},
			"",
		},
		{"dpproxy: {bounds: [120, 0]}", "", Column{}, "bounds"},
		{"dpproxy: {bound: [0, 120]}", "", Column{}, `did you mean "bounds"`},
		{"dpproxy: {values_from: wards.ward}", "", Column{}, "values_from"},
		{"dpproxy: {bounds: [0, 120]", "", Column{}, "yaml"},
		{"dpproxy: {bounds: [0, 120]}\r  evil: {public: true}", "", Column{}, "yaml"},
		{"dpproxy: {bounds: [0, 120]} # \u2028 more", "", Column{}, "U+2028"},
		{`dpproxy: {bounds: ["0", "120"]}`, "", Column{}, "without quotes"},
		{long, "", Column{}, "yaml"},
	} {
		text, got, err := ColumnComment(c.comment)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q: %v, want %s", c.comment, err, c.err)
			}
			continue
		}
		if err != nil || text != c.text || strings.ContainsAny(text, "\n\r") {
			t.Errorf("%q: %q, %v; want %q", c.comment, text, err, c.text)
		}
		if diff := cmp.Diff(&c.want, got); diff != "" {
			t.Errorf("%q: %s", c.comment, diff)
		}
	}
}

func TestCommentsOfTables(t *testing.T) {
	_, got,
		err := TableComment("dpproxy: {privacy_unit: {name: person, column: id}, max_rows_per_unit: 1, max_rows: 1000}")
	want := &Table{Unit: &Unit{Name: "person", Column: "id"}, MaxRowsPerUnit: 1, MaxRows: 1000}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	if _, got, err = TableComment("dpproxy: {max_rows: 5}"); err != nil || got.Unit != nil || got.MaxRowsPerUnit != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, _, err = TableComment("dpproxy: {public: true}"); err == nil {
		t.Error("a comment has made a table public")
	}
}
