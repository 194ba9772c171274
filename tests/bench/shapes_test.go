package main

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// whale is a customer with five times as many rows as count, whose values are far beyond their bounds, or NaN.
const whale = `
INSERT INTO customer VALUES (100000000, 'whale', 8, 'BUILDING', 1e9);
INSERT INTO orders SELECT 100000000 + i, 100000000, date '1992-01-01' + i % 2400, (ARRAY['1-URGENT','5-LOW'])[1 + i % 2], 0 FROM generate_series(1, 1200) i;
INSERT INTO lineitem
SELECT 100000000 + i, n, 1, 1 + i % 10, (ARRAY['NaN', -5, 12, 1e9])[n]::numeric, (ARRAY['NaN', -1e6, 1e9, 99999.99])[n]::numeric,
       (ARRAY[0.06, -3, 5, 'NaN'])[n]::numeric, (ARRAY['NaN', 7, -7, 0.04])[n]::numeric,
       (ARRAY['A','N','R'])[1 + i % 3], (ARRAY['F','O'])[1 + i % 2], date '1992-01-02' + i % 2400, date '1992-01-03' + i % 2400, date '1992-01-04' + i % 2400,
       'DELIVER IN PERSON', (ARRAY['AIR','MAIL','SHIP'])[1 + i % 3]
FROM generate_series(1, 1200) i, generate_series(1, 4) n;
INSERT INTO lineitem_stored
SELECT 100000000, (ARRAY['A','N','R'])[1 + i % 3], (ARRAY['F','O'])[1 + i % 2], date '1992-01-02' + i % 2400, 1000000 - i, i - 1000000000, 1000 * i, -i
FROM generate_series(1, 5000) i`

// TestShapesByHandMeasureTheSame: the shapes that dpproxy's are held against give the same integers of the same groups
// where no bound binds, and one unit, whatever its rows, moves neither by more than was charged.
func TestShapesByHandMeasureTheSame(t *testing.T) {
	ctx := context.Background()
	h, err := start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer h.stop()
	if err := loadTPCH(ctx, h, 0.005); err != nil {
		t.Fatal(err)
	}
	if err := h.record(); err != nil {
		t.Fatal(err)
	}
	if err := h.serve(ctx); err != nil {
		t.Fatal(err)
	}
	direct, proxied, err := h.connections(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	defer direct.Close(ctx)
	defer proxied.Close(ctx)
	list, err := shapes()
	if err != nil {
		t.Fatal(err)
	}
	sides := func(s shape) (measure, hand groups) {
		q, err := h.measureOf(ctx, proxied, s.sql)
		if err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		return groupsOf(t, s.name, again(ctx, direct, q)),
			groupsOf(t, s.name, direct.PgConn().ExecParams(ctx, s.hand, nil, nil, nil, nil).Read())
	}
	type both struct{ measure, hand groups }
	before := map[string]both{}
	for _, s := range list {
		measure, hand := sides(s)
		if d := cmp.Diff(measure, hand); d != "" || len(hand) == 0 {
			t.Errorf("%s, dpproxy's and by hand: %s", s.name, d)
		}
		before[s.name] = both{measure, hand}
	}
	if err := h.admin(ctx, "bench", whale); err != nil {
		t.Fatal(err)
	}
	moved := 0
	for _, s := range list {
		measure, hand := sides(s)
		most := charged(ctx, t, proxied, s.sql)
		for i, by := range measure.less(before[s.name].measure) {
			if by > most[i] {
				t.Errorf("%s: one unit moves integer %d of dpproxy's by %d, more than %d", s.name, i+1, by, most[i])
			}
			if by > 0 {
				moved++
			}
		}
		for i, by := range hand.less(before[s.name].hand) {
			if by > most[i] {
				t.Errorf("%s: one unit moves integer %d by hand by %d, more than %d", s.name, i+1, by, most[i])
			}
		}
	}
	if moved < 15 {
		t.Errorf("the unit moves %d integers: that shows little", moved)
	}
}

// groups are the integers of each group.
type groups map[string][]int64

func groupsOf(t *testing.T, name string, r *pgconn.Result) groups {
	t.Helper()
	if r.Err != nil {
		t.Fatalf("%s: %v", name, r.Err)
	}
	out := groups{}
	for _, row := range r.Rows {
		var integers []int64
		for _, v := range row[1:] {
			whole, _, _ := strings.Cut(string(v), ".")
			n, err := strconv.ParseInt(whole, 10, 64)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			integers = append(integers, n)
		}
		out[string(row[0])] = integers
	}
	return out
}

// less adds up, for each integer, by how much it differs in all groups.
func (g groups) less(o groups) []int64 {
	var by []int64
	for key := range maps.Keys(g) {
		for i, n := range g[key] {
			if len(by) <= i {
				by = append(by, 0)
			}
			if len(o[key]) > 0 {
				n -= o[key][i]
			}
			by[i] += max(n, -n)
		}
	}
	return by
}

// charged says how far one unit may move each integer of a statement's measure, as EXPLAIN says.
func charged(ctx context.Context, t *testing.T, proxied *pgx.Conn, sql string) []int64 {
	t.Helper()
	results, err := proxied.PgConn().Exec(ctx, "EXPLAIN (FORMAT JSON) "+sql).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var plans []struct {
		Blocks []struct {
			Measured []int
			Releases []struct{ Total int64 }
		}
	}
	text := slices.Concat(results[0].Rows[0]...)
	if err := json.Unmarshal(text, &plans); err != nil {
		t.Fatalf("%v in %.200s", err, text)
	}
	block := plans[0].Blocks[0]
	most := make([]int64, len(block.Measured))
	for i, release := range block.Measured {
		most[i] = block.Releases[release].Total
	}
	return most
}
