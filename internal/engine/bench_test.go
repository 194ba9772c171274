package engine

import (
	"context"
	"fmt"
	"testing"
)

// BenchmarkBind measures what a Bind of a private statement costs the proxy, with databases that answer at once:
// planning with values that were planned before, and with new ones.
func BenchmarkBind(b *testing.B) {
	const sql = "SELECT ward, count(*), avg(age) FROM patients WHERE age BETWEEN $1 AND 65 GROUP BY ward"
	for _, c := range []struct {
		name  string
		value func(i int) string
	}{
		{"the same values", func(int) string { return "18" }},
		{"other values", func(i int) string { return fmt.Sprint(i%60 + 1) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			w := newWorld(b)
			call := w.mustBind(b, sql, c.value(0)).call
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				i++
				call.values = [][]byte{[]byte(c.value(i))}
				if c.name == "other values" {
					call.state.lookups.plans.cache.Purge()
				}
				if _, err := call.calibratedPlan(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
