package rewrite_test

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"
)

// mutationDatabases are tried before a mutation counts as undetected.
const mutationDatabases = 10

// rowClamp is a clamp of one row's value: of a number, of another one, and of a count of one unit's rows below an aggregate.
const rowClamp = `CASE WHEN (t\d+\.\S+) OPERATOR\(pg_catalog\.<\) \S+ THEN \S+ WHEN t\d+\.\S+ OPERATOR\(pg_catalog\.>\) \S+ THEN \S+ ELSE t\d+\.\S+ END` +
	`|LEAST\(GREATEST\((t\d+\.\S+|\(t\d+\.\S+ OPERATOR\(pg_catalog\.\*\) '\d+'::pg_catalog\.numeric\)), '[^']*'::pg_catalog\.numeric\), '[^']*'::pg_catalog\.numeric\)` +
	`|LEAST\((count\(\*\)), \d+\)`

// TestMutations proves that TestSensitivity can fail: each mutation is a fault that the rewriting must not have, made in every
// plan of the corpus that has a place for it, and at least the given part of those plans is found out.
func TestMutations(t *testing.T) {
	for _, m := range []struct {
		name  string
		made  func(*probed) bool
		found float64
	}{
		{"no clamp per unit", without(`LEAST\(GREATEST\((u\.s\d+), \(-?\d+\)\), \d+\)`, "$1"), 0.6},
		{"no clamp of a row", without(rowClamp, "$1$2$3"), 0.4},
		{"no selection of groups", without(`u\.pick <= \d+`, "TRUE"), 0.4},
		{"no rank of rows", without(`w\.pick <= \d+`, "TRUE"), 0.5},
		{"no total order of groups", without(`(OVER \(PARTITION BY u\.u) ORDER BY .*?(\) AS pick )`, "$1$2"), 0.05}, // main sorts them anyway, mostly
		{"no total order of rows", without(`(OVER \(PARTITION BY w\.u[^()]*) ORDER BY pg_catalog\.hash.*?\), w\.[zv](\) AS pick)`, "$1$2"), 0.3},
		{"no total order of first rows", without(`, t1\."visit_id"(\) AS t2)`, "$1"), 0.3},
		{"windows over all units", without(`OVER \(PARTITION BY t\d+\."patient_id"`, "OVER (PARTITION BY NULL::pg_catalog.int4"), 0.3},
		{"windows with ties", without(`( OVER \(PARTITION BY t\d+\."patient_id" ORDER BY [^)]*\)[A-Z ]*), \(t\d+\."visit_id"\)`, "$1"), 0.2},
		{"row numbers without a limit", without(`\(t\d+\.c\d+ OPERATOR\(pg_catalog\.[<>]?=\) (1|\(\d+\))\)`, "TRUE"), 0.1},
		// Where a choice is made per unit: a clamp bounds the sum of all rows as it does that of one unit's.
		{"one unit for all rows", without(`(PARTITION BY [uw]\.u.*)\(SELECT t1\."patient_id" AS u`, "$1(SELECT NULL::pg_catalog.int8 AS u"), 0.6},
		{"half the sensitivity", func(b *probed) bool {
			for i := range b.block.Releases {
				b.block.Releases[i].Sensitivity /= 2
			}
			return true
		}, 0.8},
		{"half a join's row bound", func(b *probed) bool {
			for i := range b.block.Releases {
				b.block.Releases[i].Sensitivity /= 2
			}
			return strings.Contains(strings.ToUpper(b.query.sql), "JOIN")
		}, 0.7},
		// Where no choice of groups bounds a unit, a key of which the domain has two is counted twice.
		{"a row joins every equal value", func(b *probed) bool {
			join := without(`\(SELECT v\.k[^()]* AS k, min\(v\.o\) AS o FROM (pg_catalog\.unnest\(\(\$\d+::pg_catalog\.text\[\]\)::[^()]*\[\]\) WITH ORDINALITY AS) v \(k, o\) GROUP BY 1\) AS (d\d+)`, "$1 $2 (k, o)")
			return doubled(b) && !strings.Contains(b.sql[0].Text, ".pick") && join(b)
		}, 0.8},
		{"one group fewer", func(b *probed) bool {
			for i := range b.block.Releases {
				b.block.Releases[i].Groups--
			}
			return true
		}, 0.8},
	} {
		t.Run(m.name, func(t *testing.T) {
			probe := newProbe(t, theWorld, m.made)
			made := len(probe.plans)
			random := rand.New(rand.NewPCG(5, 6))
			for range mutationDatabases {
				probe.database(t, random)
			}
			found := made - len(probe.plans)
			t.Logf("%d of %d mutated plans are found out", found, made)
			if made == 0 || float64(found) < m.found*float64(made) {
				t.Errorf("%d of %d mutated plans are found out, want %g of them", found, made, m.found)
			}
		})
	}
}

// without mutates measure queries by replacing a pattern.
func without(pattern, replacement string) func(*probed) bool {
	find := regexp.MustCompile(pattern)
	return func(b *probed) bool {
		made := false
		for i, s := range b.sql {
			b.sql[i].Text = find.ReplaceAllString(s.Text, replacement)
			made = made || b.sql[i].Text != s.Text
		}
		return made
	}
}

// doubled adds, to every domain of a plan, all its values once more.
func doubled(b *probed) bool {
	made := false
	for i, s := range b.sql {
		b.sql[i].Parameters = slices.Clone(s.Parameters)
		for j, p := range s.Parameters {
			if p.Type == pgtype.TextArrayOID && len(*p.Value) > len("{}") {
				value := (*p.Value)[:len(*p.Value)-1] + "," + (*p.Value)[1:]
				b.sql[i].Parameters[j].Value, made = &value, true
			}
		}
	}
	return made
}

// TestDoubledDomains: where a domain holds every value twice, a unit is counted no more often for it.
func TestDoubledDomains(t *testing.T) {
	probe := newProbe(t, theWorld, doubled)
	random := rand.New(rand.NewPCG(7, 8))
	for range mutationDatabases {
		for _, problem := range probe.database(t, random) {
			t.Error(problem)
		}
	}
	t.Logf("%d plans with doubled domains", len(probe.plans))
}
