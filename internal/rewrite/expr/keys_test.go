package expr

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// keyCases are group keys whose values can be listed, with their number; −1: as many as there happen to be.
var keyCases = []struct {
	text string
	rows int
}{
	{"diag", 3},
	{"upper(diag)", 3},
	{"COALESCE(diag, 'none')", 4},
	{"left(diag, 1)", 3},
	{"length(diag)", 3},
	{"NULLIF(diag, 'flu')", 2},
	{"CASE diag WHEN 'flu' THEN 'x' ELSE 'y' END", 2},
	{"diag = 'flu'", 2},
	{"diag || '!'", 3},
	{"diag IS NULL", 2},
	{"b", 2},
	{"nb", 2},
	{"NOT b", 2},
	{"b IS TRUE", 2},
	{"b AND nb", 2},
	{"age > 65", 2},
	{"n2 > 5", 2},
	{"m", 3},
	{"m::text", 3},
	{"(m, (1, 2)) IS NULL", 0},
	{"age", 121},
	{"i2", 101},
	{"i4", 171},
	{"dom", 101},
	{"age / 10", 13},
	{"age / 10 * 10", 13},
	{"age % 7", 7},
	{"(age / 10)::text", 13},
	{"COALESCE(i2, -1)", 102},
	{"width_bucket(n, 0, 10, 5)", 7},
	{"width_bucket(age, 0, 120, 4)", 5},
	{"floor(n2 / 1000)", 21},
	{"round(n2, -3)", 21},
	{"floor(f8 / 100000)", 21},
	{"round(pn)", 9},
	{"floor(pf8)::int", 51},
	{"CASE WHEN age < 18 THEN 'minor' WHEN age < 65 THEN 'adult' ELSE 'senior' END", 3},
	{"CASE WHEN n < 0 THEN 'neg' WHEN n > 0 THEN 'pos' END", 2},
	{"CASE WHEN t LIKE 'A%' THEN 1 ELSE 2 END", 2},
	{"CASE WHEN age < 3 THEN age ELSE 3 END", 4},
	{"CASE WHEN age > 100 THEN 100 ELSE age / 10 * 10 END", 11},
	{"d", 4383},
	{"d - '2015-01-01'", 4383},
	{"date_trunc('month', d)", 144},
	{"date_trunc('year', ts)", 12},
	{"date_trunc('month', tz)", -1},
	{"tz::date", 4383},
	{"date_trunc('month', tz::date)", 145},
	{"date_trunc('month', tz)::date", 145},
	{"extract(year FROM tz)", 13},
	{"extract(year FROM tz AT TIME ZONE 'Asia/Tokyo')", 12},
	{"date_trunc('month', tz AT TIME ZONE 'Asia/Tokyo')", 144},
	{"to_char(tz::timestamp, 'YYYY-MM')", 145},
	{"date_trunc('quarter', ts)::date", 48},
	{"date_trunc('week', ts)", 627},
	{"extract(year FROM d)", 12},
	{"extract(month FROM ts)", 12},
	{"extract(dow FROM utz)", 7},
	{"extract(hour FROM ts)", 24},
	{"date_part('year', ts)", 12},
	{"date_part('hour', tz)", 24},
	{"extract(year FROM ts)::int", 12},
	{"extract(quarter FROM d)", 4},
	{"to_char(ts, 'YYYY-MM')", 144},
	{"to_char(d, 'Dy')", 7},
	{"to_char(ts, 'HH24')", 24},
	{"to_char(d, 'MM-DD')", 366},
	{"to_char(tz, 'Dy HH24')", 168},
	{"to_char(d, 'FMMonth')", 12},
	{"to_char(d, 'YYYY\"Q\"Q')", 48},
	{"ts::date", 4383},
	{"extract(year FROM age('2026-12-31', d))", 12},
	{"LEAST(age, 10)", 11},
	{"GREATEST(LEAST(u4, 5), 1)", 5},
	{"1", 1},
	{"date_trunc('month', ts) + interval '1 day'", 144},
	{"extract(year FROM ts) * 100 + extract(month FROM ts)", 144},
	{"disc", 11},
	{"sign(n)", 3},
	{"CURRENT_DATE - d > 365", 2},
	{"CURRENT_DATE - d", 4383},
	{"date_bin('7 days', ts, '2015-01-01')", 627},
	{"date_bin('7 days', ts, '2030-01-01')", -1},
	{"date_bin('30 days', tz, '2020-01-05 00:00+00')", -1},
	{"(age, i2) = (1, 2)", 2},
	{"lower(ir)", 101},
	{"upper(dr) - lower(dr) > 7", 2},
	{"date_trunc('month', upper(dr))", 144},
	{"extract(year FROM lower(tzr))", 13},
	{"dr @> date '2020-02-29'", 2},
	{"isempty(dr)", 2},
}

// TestKeys lists keys on the server and holds the list against the values of many rows: none may be missing, none
// twice.
func TestKeys(t *testing.T) {
	s := startServer(t)
	s.exec(t, "SET TimeZone = 'America/New_York'; ALTER TABLE benign ALTER nb DROP NOT NULL")
	s.exec(
		t,
		`INSERT INTO benign (d, ts, tz, age, i2, i4, n, n2, pn, f8, pf8, disc, dom, diag) SELECT date '2015-01-01' + i % 4383, least(timestamp '2015-01-01' + i * interval '10 hours 31 minutes', '2026-12-31 23:59:59'),
		least(timestamptz '2015-01-01 00:00+00' + i * interval '10 hours 31 minutes', '2026-12-31 00:00+00'), i % 121, i % 101, i % 171 - 50, i % 2001 - 1000, i * 1.99, 0.5 + (i % 86) / 10.0, i * 195.5 - 1000000, 0.1 + (i % 500) / 10.0, (i % 11) / 100.0, i % 101,
		(ARRAY['flu', 'cold', 'asthma', NULL])[i % 4 + 1] FROM generate_series(0, 10000) i`)
	for _, c := range keyCases {
		t.Run(c.text, func(t *testing.T) {
			e, err := Build(parseExpr(t, c.text), s.scope)
			if c.rows == 0 {
				if err == nil {
					t.Fatal("accepted")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			k, err := Keys(e, Limits{200000, 200000})
			if err != nil {
				t.Fatal(err)
			}
			listed, err := s.text(k.SQL)
			if err != nil {
				t.Fatalf("%s\nSQL: %s", full(err), k.SQL)
			}
			var keys []string
			for _, row := range listed {
				if row[0] != nil {
					keys = append(keys, show(row[0]))
				}
			}
			if c.rows >= 0 && len(keys) != c.rows {
				t.Errorf("%d keys, not %d: %.300s\nSQL: %s", len(keys), c.rows, strings.Join(keys, ","), k.SQL)
			}
			if int64(len(keys)) > k.Size {
				t.Errorf("%d keys, declared %d", len(keys), k.Size)
			}
			got, err := s.text("SELECT DISTINCT (" + sqlOf(e) + ") FROM benign AS r WHERE (" + sqlOf(e) + ") IS NOT NULL")
			if err != nil {
				t.Fatalf("%s\nSQL: %s", full(err), sqlOf(e))
			}
			for _, row := range got {
				if !slices.Contains(keys, show(row[0])) && !(e.scale == 0 &&
					slices.Contains(keys, strings.TrimSuffix(show(row[0]), ".00"))) {
					t.Fatalf("%s is not listed\nSQL: %s", show(row[0]), k.SQL)
				}
			}
		})
	}
}

// TestWholeKeys: values that somebody declared, and bounds, may not be all that rows have. age > 200 is true of a row
// beyond its bounds.
func TestWholeKeys(t *testing.T) {
	scope := offlineScope(t)
	for text, whole := range map[string]bool{
		"b": true, "NOT nb": true, "CASE WHEN b THEN 'yes' ELSE 'no' END": true, "t ~ 'x'": true,
		"age": false, "disc": false, "age > 200": false, "b AND age < 50": false, "diag": false, "diag = 'flu' OR b": false,
	} {
		e, err := Build(parseExpr(t, text), scope)
		if err != nil {
			t.Fatal(text, err)
		}
		k, err := Keys(e, Limits{10000, 10000})
		if err != nil {
			t.Fatal(text, err)
		}
		if k.Whole != whole {
			t.Errorf("%s: whole is %v\n%s", text, k.Whole, k.SQL)
		}
	}
}

// TestNoKeys: expressions whose values cannot be listed.
func TestNoKeys(t *testing.T) {
	scope := offlineScope(t)
	for _, text := range []string{
		"t", "n", "f8", "u4", "ts", "i8", "n2", "extract(epoch FROM ts)", "lower(t)", "ud", "iv",
		"u", "v || 'x'", "sqrt(pf8)", "to_char(ts, 'YYYY-MM-DD HH24:MI:SS')",
	} {
		e, err := Build(parseExpr(t, text), scope)
		if err != nil {
			t.Fatal(text, err)
		}
		if k, err := Keys(e, Limits{10000, 10000}); err == nil {
			t.Errorf("%s is listed by %s", text, k.SQL)
		}
	}
}

// TestKeyLimits: more values may be listed than computed of bounds, and what is made of both is computed. NULL is
// beside the values: a column that may be NULL has as many as one that may not.
func TestKeyLimits(t *testing.T) {
	scope := offlineScope(t)
	for _, c := range []struct {
		text     string
		limits   Limits
		computed bool
		refused  refusal.Reason // where any is
	}{
		{text: "diag", limits: Limits{Listed: 4, Computed: 1}},
		{text: "b", limits: Limits{Listed: 4, Computed: 1}},
		{text: "diag", limits: Limits{Listed: 3, Computed: 1}},
		{text: "diag", limits: Limits{Listed: 2, Computed: 2}, refused: refusal.TooManyGroups},
		{text: "i2", limits: Limits{Listed: 103, Computed: 103}, computed: true},
		{text: "i2", limits: Limits{Listed: 1000, Computed: 100}, refused: refusal.KeyValues},
		{text: "left(diag, i2)", limits: Limits{Listed: 1000, Computed: 412}, computed: true},
		{text: "left(diag, i2)", limits: Limits{Listed: 1000, Computed: 100}, refused: refusal.KeyValues},
	} {
		e, err := Build(parseExpr(t, c.text), scope)
		if err != nil {
			t.Fatal(c.text, err)
		}
		k, err := Keys(e, c.limits)
		var refused *Refusal
		switch {
		case errors.As(err, &refused):
			if refused.Reason != c.refused || c.refused == 0 {
				t.Errorf("%s under %v is refused: %v", c.text, c.limits, err)
			}
		case c.refused != 0 || k.Computed != c.computed:
			t.Errorf("%s under %v: computed %v", c.text, c.limits, k.Computed)
		}
	}
}

// TestSelectionKey: equal values have one text, and the text reads as the value.
func TestSelectionKey(t *testing.T) {
	s := startServer(t)
	for _, text := range []string{
		"t", "v", "c", "u", "m", "b", "age", "i8", "un", "uf", "f4", "ud", "uts", "utz", "tm",
		"n * 1.00", "lower(t)", "u4 % 10",
	} {
		t.Run(text, func(t *testing.T) {
			e, err := Build(parseExpr(t, text), s.scope)
			if err != nil {
				t.Fatal(err)
			}
			selection, err := SelectionKey(e)
			if err != nil {
				t.Fatal(err)
			}
			key := query.Text(selection)
			sql := sqlOf(e.Read())
			if e.Column() != nil {
				sql = sqlOf(e)
			}
			bad, err := s.text("SELECT " + key + " FROM hostile AS r WHERE (" + key + ")::" + e.TypeName() +
				" IS DISTINCT FROM " + sql + " LIMIT 1")
			if err != nil {
				t.Fatal(full(err))
			}
			if len(bad) > 0 {
				t.Errorf("%s does not read as its value", show(bad[0][0]))
			}
			counts, err := s.text("SELECT count(DISTINCT " + sql + ") = count(DISTINCT (" + key +
				")::pg_catalog.text COLLATE \"C\") FROM hostile AS r")
			if err != nil {
				t.Fatal(full(err))
			}
			if *counts[0][0] != "t" {
				t.Error("equal values have several texts")
			}
		})
	}
	for _, text := range []string{"iv", "uiv"} {
		e, err := Build(parseExpr(t, text), s.scope)
		if err != nil {
			t.Fatal(err)
		}
		if selection, err := SelectionKey(e); err == nil {
			t.Errorf("%s has the key %s", text, query.Text(selection))
		}
	}
	fuzzy := *s.scope.columns["t"]
	fuzzy.DeterministicCollation = false
	if key, err := SelectionKey(columnExpr(&fuzzy, -1)); err == nil {
		t.Errorf("a column without deterministic collation has the key %s", key)
	}
}
