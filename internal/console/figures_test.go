package console

import (
	"encoding/csv"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgtype"
)

func TestFigures(t *testing.T) {
	last := table([]column{{"column_name", pgtype.TextOID}, {"margin", pgtype.Float8OID}}, []string{"n", "6"},
		[]string{"place", "NULL"}, []string{"x", "NaN"}, []string{"y", "-3"})
	none := math.Inf(1)
	if diff := cmp.Diff([]figureOf{{"n", 6}, {"place", none}, {"x", none}, {"y", none}}, last.figures()); diff != "" {
		t.Error(diff)
	}
}

// table makes an answer.
func table(columns []column, rows ...[]string) *answer {
	a := &answer{Columns: columns, Figures: []figureOf{{"count", 10}}}
	for _, r := range rows {
		var row []cell
		for _, v := range r {
			row = append(row, cell{strings.TrimPrefix(v, "NULL"), v == "NULL"})
		}
		a.Rows = append(a.Rows, row)
	}
	return a
}

var (
	ward  = column{"ward", pgtype.TextOID}
	count = column{"count", pgtype.Int8OID}
)

func TestBars(t *testing.T) {
	list := charts(table([]column{ward, count}, []string{"a", "90"}, []string{"NULL", "-10"}, []string{"c", "NULL"}))
	if len(list) != 1 || len(list[0].Bars) != 3 || list[0].Key != "ward" {
		t.Fatalf("%+v", list)
	}
	// The axis goes from −20, the lowest end of an error bar, to 100.
	x := func(v float64) float64 { return 100 * (v + 20) / 120 }
	for i, want := range []bar{
		{Key: "a", Value: "90", From: x(0), Width: x(90) - x(0), Low: x(80), High: 100, Has: true},
		{Key: "NULL", Value: "−10", From: x(-10), Width: x(0) - x(-10), Low: 0, High: x(0), Has: true},
		{Key: "c", Missing: true},
	} {
		if diff := cmp.Diff(want, list[0].Bars[i], cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })); diff != "" {
			t.Error(diff)
		}
	}
}

// TestUnsurePlaces: the hint that an answer gives about its order dims the bars of these places, and no other does.
func TestUnsurePlaces(t *testing.T) {
	for hint, want := range map[string][2]int{
		"The first 2 places are certain, places 3 to 4 are within the noise.":                                                 {2, 4},
		"3 of 9 groups are not shown: … keep shows all. The first place is certain, places 2 to 3 are within the noise. Rows": {1, 3},
		"The first 3 places are certain, place 4 is within the noise.":                                                        {3, 4},
		"Places 1 to 12 are within the noise.":                                                                                {0, 12},
		"By rank: places 1 to 12 are within the noise.":                                                                       {},
		"By rank: the first place is certain, place 2 is within the noise.":                                                   {},
		"": {},
	} {
		list := charts(table([]column{ward, count}, []string{"a", "9"}, []string{"b", "8"}, []string{"c", "7"}))
		dim(list, hint)
		from, to := unsure(hint)
		for i, b := range list[0].Bars {
			if from != want[0] || to != want[1] || b.Unsure != (i >= want[0] && i < want[1]) ||
				list[0].Unsure != (to > 0 && from < 3) {
				t.Errorf("%s: %d to %d, want %v; bar %d: %v", hint, from, to, want, i, b.Unsure)
			}
		}
	}
}

// TestIntervalsOfTheAnswer: where a column has its interval beside it, the error bars are those.
func TestIntervalsOfTheAnswer(t *testing.T) {
	low, high := column{"count_low", pgtype.Int8OID}, column{"count_high", pgtype.Int8OID}
	list := charts(table([]column{ward, count, low, high}, []string{"a", "50", "40", "100"}))
	if len(list) != 1 || list[0].Bars[0].Low != 40 || list[0].Bars[0].High != 100 || list[0].Key != "ward" {
		t.Errorf("%+v", list)
	}
}

// TestOpenIntervals: an end that is not known is said, and has no error bar, whatever the margin of other groups is.
func TestOpenIntervals(t *testing.T) {
	low, high := column{"count_low", pgtype.Int8OID}, column{"count_high", pgtype.Int8OID}
	a := table([]column{ward, count, low, high}, []string{"a", "50", "40", "NULL"}, []string{"b", "60", "NULL", "70"})
	for i, want := range []string{"≥ 40", "≤ 70"} {
		if _, rows := a.shown(); rows[i][2].Text != want {
			t.Errorf("%s, want %s", rows[i][2].Text, want)
		}
		if list := charts(a); len(list) != 1 || list[0].Bars[i].Has {
			t.Errorf("%+v", list)
		}
	}
}

// TestIntervalsOfEqualNames: each column has the interval that stands behind it.
func TestIntervalsOfEqualNames(t *testing.T) {
	low, high := column{"avg_low", pgtype.Int8OID}, column{"avg_high", pgtype.Int8OID}
	avg := column{"avg", pgtype.Int8OID}
	a := table([]column{ward, avg, low, high, avg, low, high}, []string{"a", "50", "0", "100", "20", "NULL", "NULL"})
	list := charts(a)
	if len(list) != 2 || list[0].Bars[0].Low != 0 || list[0].Bars[0].High != 100 || list[0].Margin != "50" ||
		list[1].Bars[0].Has {
		t.Errorf("%+v", list)
	}
	heads, rows := a.shown()
	var line []string
	for i := range heads {
		line = append(line, heads[i].Text+"="+rows[0][i].Text)
	}
	if got, want := strings.Join(line, "; "), "ward=a; avg=50; 95 %=0 … 100; avg=20; 95 %=unknown"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestWhatIsNotDrawn(t *testing.T) {
	for name, a := range map[string]*answer{
		"no margin":   table([]column{ward, {"x", pgtype.Int8OID}}, []string{"a", "1"}),
		"no number":   table([]column{ward, {"count", pgtype.TextOID}}, []string{"a", "1"}),
		"no rows":     table([]column{ward, count}),
		"nothing but": table([]column{count}, []string{"1"}, []string{"2"}),
	} {
		if list := charts(a); len(list) != 0 {
			t.Errorf("%s: %+v", name, list)
		}
	}
	if one := charts(table([]column{count}, []string{"1234"})); len(one) != 1 || one[0].Single == nil ||
		one[0].Single.Value != "1\u202f234" {
		t.Errorf("%+v", one)
	}
	many := table([]column{ward, count})
	for i := range maxBars + 7 {
		many.Rows = append(many.Rows, []cell{{Text: strconv.Itoa(i)}, {Text: "1"}})
	}
	if list := charts(many); len(list[0].Bars) != maxBars || list[0].Left != 7 {
		t.Errorf("%d bars, %d left", len(list[0].Bars), list[0].Left)
	}
}

// TestDensities: a law of EXPLAIN is drawn within its frame: steps as high as the probability of a value, but for what
// stands on one value among many.
func TestDensities(t *testing.T) {
	margin := 1.0
	few := &law{
		Lo: 0, Hi: 3, Points: 1, Last: 1, Inside: weights{2, []float64{0, .2, .6, .2}},
		End: &weights{0, []float64{.8, .2, 0, 0}},
	}
	d := densityOf(release{Range: "[0, 3]", Margin: &margin, Density: few})
	if d.Inside != "M0 40.00V40.00H25.00V30.30H50.00V10.90H75.00V30.30H100.00V40.00Z" ||
		d.AtEnd != "M0 40.00V1.20H25.00V30.30H50.00V40.00H75.00V40.00H100.00V40.00Z" {
		t.Errorf("%s, at its end %s", d.Inside, d.AtEnd)
	}
	if d.Bar != [2]float64{25, 75} || d.True != 62.5 || d.Value != "2" || d.End != "0" || d.Lo != "0" || d.Hi != "3" ||
		!strings.Contains(d.Alt, "[0, 3]") {
		t.Errorf("%+v", d)
	}

	// The first part has .5 on one value; the last part has a single point, with the density of the others.
	many := &law{Lo: -1, Hi: 7, Points: 2, Last: 1, Inside: weights{3, []float64{.7, .1, .1, .1, .05}}}
	d = densityOf(release{Range: "[-1, 7]", Margin: &margin, Density: many})
	low := coordinate(height * (1 - most/spike))
	if want := "M0 40.00V1.20H22.22V" + low + "H44.44V" + low + "H66.67V" + low + "H88.89V" + low + "H100.00V40.00Z"; d.Inside != want || d.AtEnd != "" || d.End != "" {
		t.Errorf("%s, want %s; at its end %q", d.Inside, want, d.AtEnd)
	}
	if d := densityOf(release{Range: "[0, 3]", Margin: &margin}); d != nil {
		t.Errorf("%+v", d)
	}
}

func TestPrices(t *testing.T) {
	for _, c := range [][2]float64{{.5, 1}, {1, 1}, {.01, 10}, {.3, .35}, {1e-6, 1}} {
		list := prices(c[0], c[1])
		for i := 1; i < len(list); i++ {
			if list[i] <= list[i-1] && c[0] > c[1]/64 {
				t.Errorf("%v: %v does not rise", c, list)
			}
		}
		if list[nearest(list, c[0])] != c[0] || list[len(list)-1] > c[1] {
			t.Errorf("%v: %v", c, list)
		}
	}
}

func TestNumbers(t *testing.T) {
	for text, want := range map[string]string{
		"1234567": "1\u202f234\u202f567", "-1234.5": "−1\u202f234.5", "999": "999", "1e5": "1e5", "NaN": "NaN",
		"2026-01-01": "2026-01-01", "": "", "-": "-",
		"62.1412315930388220": "62.14", "0.5": "0.5",
	} {
		if got := figure(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	for v, want := range map[float64]string{
		1e-6: "1e−6", math.Inf(1): "∞", .84550: "0.8455",
		3900829: "3\u202f900\u202f829", 0: "0", 1e20: "1e20",
	} {
		if got := number(v); got != want {
			t.Errorf("%g: %s, want %s", v, got, want)
		}
	}
}

// TestMarginsOfReleases: in the unit of the column, times as durations.
func TestMarginsOfReleases(t *testing.T) {
	margin := 11351440166000.0
	for want, r := range map[string]release{
		"±131.4 days": {Kind: kindScalar, Margin: &margin, Unit: "microseconds"},
		"about ±2.23 h over 1\u202f000 rows": {
			Kind: kindChained, Scale: 4095547817162, Unit: "microseconds",
			Mechanism: "gaussian clamp",
		},
		"about ±0.5879 over 1\u202f000 rows": {Kind: kindChained, Scale: 300 - .05, Mechanism: "gaussian clamp"},
		"±30 s where enough rows count":      {Kind: kindChained, Wanted: 3e7, Unit: "microseconds"},
		"":                                   {Kind: "quantile"},
	} {
		if got := r.margin(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestCSV(t *testing.T) {
	a := table([]column{{"@sum", pgtype.TextOID}, count, {"=cmd", pgtype.Int8OID}}, []string{"=1+1", "-5", "1"}, []string{"plain, \"quoted\"", "NULL", "2"},
		[]string{"\tx", "7", "3"})
	a.Figures = append(a.Figures, figureOf{"=cmd", math.Inf(1)})
	var b strings.Builder
	if err := a.writeCSV(csv.NewWriter(&b)); err != nil {
		t.Fatal(err)
	}
	if want := "'@sum,count,count_margin,'=cmd,'=cmd_margin\n'=1+1,-5,10,1,\n\"plain, \"\"quoted\"\"\",,,2,\n'\tx,7,10,3,\n"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

func TestScript(t *testing.T) {
	for want, p := range map[string]price{
		"SELECT 1;": {},
		"SET dpproxy.epsilon = '0.2';\nSELECT 1;":                        {Epsilon: "0.2"},
		"SET dpproxy.margin = '2''%';\nSELECT 1;":                        {Margin: "2'%"},
		"SET TimeZone = 'UTC' -- z\n;\nSELECT 1;":                        {Sets: []string{"SET TimeZone = 'UTC' -- z"}},
		"SET dpproxy.epsilon = '0.2';\nSET TimeZone = 'UTC';\nSELECT 1;": {Epsilon: "0.2", Sets: []string{"SET TimeZone = 'UTC'"}},
	} {
		if got := script(p, " SELECT 1; \n", nil); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got, want := script(price{}, "SELECT 1 -- one", nil), "SELECT 1 -- one\n;"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := script(price{}, "SELECT $1;", []parameter{{Name: "a", Value: `it's \ x`}}), `SELECT $1 \bind 'it''s \\ x' \g`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestRises(t *testing.T) {
	if rises([]float64{1, 2, 3}) != "" || rises([]float64{1, 1, 1, 1, 1, 1, 1}) != "" {
		t.Error("too little is drawn")
	}
	// A counter that fell was reset: nothing is drawn downwards.
	if got := rises([]float64{0, 2, 2, 4, 3, 4}); got !=
		"M0 100V6.00H20.00V100.00H40.00V6.00H60.00V100.00H80.00V53.00H100.00V100Z" {
		t.Error(got)
	}
}
