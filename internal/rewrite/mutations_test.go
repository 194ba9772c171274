package rewrite_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// mutationDatabases, five times, are tried before a mutation counts as undetected; of mutations of a few plans, four
// times as many. They are many, since what is found out of picks without an order moves with the order in which
// PostgreSQL happens to read equal rows.
const (
	mutationDatabases = 28
	fewPlans          = 25
)

// mutation is a fault that the rewriting must not have. It is made in every plan of the corpus that has a place for it:
// in at least so many, of which at least the given share is found out, each by any answer of the stages before it. The
// databases are made from a fixed seed, so that the numbers move only with the corpus.
type mutation struct {
	name   string
	made   func(*probed) bool
	places int
	found  float64

	refused float64 // share that certify refuses, at least
}

// TestMutations proves that TestSensitivity can fail. The faults of nodes are in mutants_test.go and
// mutants_join_test.go, and which plans have no place for one in mutants_places_test.go.
func TestMutations(t *testing.T) {
	if testing.Short() {
		t.Skip("make guards asks it")
	}
	all := probes(t, theWorld)
	for _, m := range mutations {
		t.Run(m.name, func(t *testing.T) {
			probe := newProbe(t, theWorld, all, m.made)
			made := len(probe.blocks())
			random := rand.New(rand.NewPCG(5, 6))
			databases := 20 * mutationDatabases
			if made < fewPlans {
				databases *= 4
			}
			found, enough := 0, m.found*float64(made)
			for i := 0; i == 0 || i < databases && float64(found) < enough; i++ {
				probe.database(t, random)
				found = made - len(probe.blocks())
			}
			t.Logf("%d of %d mutated plans are found out", found, made)
			if made < m.places || float64(found) < enough {
				t.Errorf("%d of %d mutated plans are found out, want %g of at least %d", found, made, m.found, m.places)
				for _, b := range probe.blocks() {
					t.Logf("not found out: %s: %s", b.query.file, strings.ReplaceAll(b.query.sql, "\n", " "))
				}
			}
		})
	}
}

var mutations = []mutation{
	// The others are beside a proof that a unit has no more rows.
	{"no clamp per unit", scalars(noUnitClamp), 35, 0.4, 0.45},
	{"clamp per unit one wider", scalars(widerUnitClamp), 35, 0.4, 0.45},
	{"no bound in one group", scalars(moreInGroup), 28, 0.6, 0.9},
	{"no window", scalars(noWindow), 150, 0.8, 0.9},
	{"clamp inside the join", scalars(boundInside), 55, 0.7, 0.85},
	{"scale rounded up", scalars(roundedUp), 55, 0.7, 0.9},
	{"a whole weight in every group", scalars(wholeWeight), 10, 0.9, 0.9},
	{"weights of a part of the groups", scalars(fewerGroups), 10, 0.9, 0.9},
	{"totals of a part of the groups", scalars(perGroup), 55, 0.7, 0.9},
	{"no clamp of a row", values(scalars(noClamp)), 500, 0.83, 0.8},
	{"no clamp of a row that is only counted", counts(scalars(noClamp)), 170, 0.31, 0.65}, // where main then fails
	{"clamp of a row one wider", scalars(widerClamp), 310, 0.37, 0.55},
	{"no selection of groups and rows", scalars(noFirst(true, true)), 14, 0.69, 0.65},
	{"no selection of groups", scalars(noFirst(true, false)), 5, 0.6, 0.85},
	{"no rank of rows", ranks(scalars(noFirst(false, true))), 9, 0.88, 0.6},
	{"one group or row more", scalars(oneMore), 14, 0.69, 0.65},
	{"no total order of picks", ranks(scalars(unorderedPick)), 14, 0.5, 0.7},
	{"choice over all units", scalars(pickOverAll), 14, 0.34, 0.85},
	{"no total order of first rows", queries(unorderedFirst), 8, 0.25, 0.25},
	{"windows over all units", scalars(windowOverAll), 100, 0.6, 0.95},
	{"windows with ties", scalars(windowWithTies), 14, 0.43, 0.75},
	{"row numbers without a limit", unlimitedNumbers, 12, 0.23, 0},
	{"one unit for all rows", grouped(ranks(queries(oneUnit))), 14, 0.6, 0.85},
	{"rows without a unit", nodes(query.Map{Query: unitlessRows, Source: unitlessJoin}), 300, 0.59, 0.7},
	{"half the unit of a full join", queries(halfUnit), 12, 0.23, 0.5},
	{"a join without its first condition", openJoin, 135, 0.73, 0.7},
	{"EXISTS for other units", scalars(openExists), 45, 0.69, 0.9},
	{"duplicates of a DISTINCT", queries(duplicates), 18, 0.05, 0.2},
	{"UNION ALL for every set operation", nodes(query.Map{Query: unionAll}), 10, 0.18, 0.2},
	// It adds what its clamp allows, so a sensitivity cannot tell it; TestOracle can.
	{"a count of all rows beside a chained sum", chained(unfilteredCount), 115, 0, 0},
	{"a chained sum of all rows", chained(unfilteredSum), 115, 0.27, 0.3},
	{"a row joins every equal value", everyEqualValue, 180, 0.85, 0.9},
	{"a row joins every group", joinsEveryGroup, 230, 0.75, 0.9},
	{"half the sensitivity", halfSensitivity, 700, 0.9, 0.9},
	{"half a join's row bound", func(b *probed) bool {
		return halfSensitivity(b) && strings.Contains(strings.ToUpper(b.query.sql), "JOIN")
	}, 135, 0.89, 0.9},
	{"one group fewer", func(b *probed) bool {
		for i := range b.block.Releases {
			b.block.Releases[i].Groups--
		}
		return true
	}, 700, 0.92, 0.9},
}

func halfSensitivity(b *probed) bool {
	for i := range b.block.Releases {
		b.block.Releases[i].Sensitivity /= 2
	}
	return true
}

// nodes mutates the trees of a plan node by node. A plan has a place for it where that changes what main gets.
func nodes(m query.Map) func(*probed) bool {
	return func(b *probed) bool {
		made := false
		for i, tree := range b.trees {
			sql := b.print(m.OfQuery(tree))
			made = made || sql.Text != b.sql[i].Text
			b.sql[i] = sql
		}
		return made
	}
}

func scalars(change func(query.Scalar) query.Scalar) func(*probed) bool {
	return nodes(query.Map{Scalar: change})
}

func queries(change func(*query.Select)) func(*probed) bool {
	return nodes(query.Map{Query: func(q query.Query) query.Query {
		s, ok := q.(*query.Select)
		if !ok {
			return q
		}
		out := *s
		out.Outputs, out.Where = slices.Clone(s.Outputs), slices.Clone(s.Where)
		change(&out)
		return &out
	}})
}

// everyEqualValue is for plans where no choice of groups bounds a unit: there a key of which the domain has two is
// counted twice.
func everyEqualValue(b *probed) bool {
	if hasNode(b, func(x query.Scalar) bool { _, ok := x.(query.Pick); return ok }) || boundByRows(b, 2) {
		return false
	}
	made := nodes(query.Map{Query: joinsEveryValue})(b)
	return doubled(b) && made
}

// chained mutates plans with a sum whose range follows from a count.
func chained(change func(query.Scalar) query.Scalar) func(*probed) bool {
	return func(b *probed) bool {
		return slices.ContainsFunc(b.block.Releases, func(r mechanism.Release) bool {
			return r.Kind == mechanism.SumGivenCount
		}) && scalars(change)(b)
	}
}

func hasNode(b *probed, is func(query.Scalar) bool) bool {
	found := false
	look := query.Map{Scalar: func(x query.Scalar) query.Scalar {
		found = found || is(x)
		return x
	}}
	for _, tree := range b.trees {
		look.OfQuery(tree)
	}
	return found
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
	if testing.Short() {
		t.Skip("make guards asks it")
	}
	probe := newProbe(t, theWorld, probes(t, theWorld), doubled)
	random := rand.New(rand.NewPCG(7, 8))
	for range mutationDatabases {
		for _, problem := range probe.database(t, random) {
			t.Error(problem)
		}
	}
	t.Logf("%d plans with doubled domains", len(probe.plans))
}

// TestFencesChangeNothing: what keeps the planner from another plan changes no integer.
func TestFencesChangeNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("make guards asks it")
	}
	fenced := func(b *probed) bool {
		unfenced := b.copied()
		return queries(func(s *query.Select) { s.Fence = query.Fence("") })(unfenced)
	}
	all := probes(t, theWorld)
	with := newProbe(t, theWorld, all, fenced)
	random, results := rand.New(rand.NewPCG(9, 10)), [][]*exact{}
	for range mutationDatabases {
		if problems := with.database(t, random); len(problems) > 0 {
			t.Fatal(problems)
		}
		var whole []*exact
		for _, b := range with.plans {
			whole = append(whole, b.whole)
		}
		results = append(results, whole)
	}
	with.forget(t)
	without := newProbe(t, theWorld, all, queries(func(s *query.Select) { s.Fence = query.Fence("") }))
	random = rand.New(rand.NewPCG(9, 10))
	for i := range mutationDatabases {
		if problems := without.database(t, random); len(problems) > 0 {
			t.Fatal(problems)
		}
		for j, b := range without.plans {
			if !sameIntegers(b.block, b.whole, results[i][j]) { // groups come in the order of a plan
				t.Errorf("%s: %s: without a fence it measures something else\n%s", b.query.file, b.query.sql, b.sql[0].Text)
			}
		}
	}
	t.Logf("%d plans with fences", len(without.plans))
	if len(without.plans) < 20 {
		t.Errorf("only %d plans have a fence", len(without.plans))
	}
}
