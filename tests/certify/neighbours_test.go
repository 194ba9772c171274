package certify_test

import (
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/certify"
	"github.com/dpproxy/dpproxy/internal/rewrite/rewritetest"
)

// How many texts are run, and on how many databases at once, each with its neighbours.
const (
	batch       = 1000 // texts that run on the same databases
	families    = 2
	fullBatches = 22
)

// tried is a certified text, what it is held to, and who it comes from.
type tried struct {
	from, sql  string
	parameters []certify.Value
	outputs    []certify.Output
}

// try runs texts on all databases and gives what is wrong with them. It counts those that could be tried, and those
// that move.
func (n *cluster) try(texts []tried) (problems []string, run, moving int) {
	bare := asked(n.empty, texts)
	var able []tried
	for i, q := range texts {
		if bare[i].err == nil { // else PostgreSQL refuses the text whatever the rows are
			able = append(able, q)
		}
	}
	answers := make([][][]answered, len(n.of))
	var group sync.WaitGroup
	limit := make(chan bool, 3)
	for f := range n.of {
		answers[f] = make([][]answered, len(n.of[f]))
		for i, c := range n.of[f] {
			group.Add(1)
			go func() {
				defer group.Done()
				limit <- true
				answers[f][i] = asked(c, able)
				<-limit
			}()
		}
	}
	group.Wait()
	for k, q := range able {
		problem, moves := "", false
		for f := range answers {
			whole := answers[f][0][k]
			for i, a := range answers[f] {
				p, m := compared(q.outputs, whole, a[k], i > len(rewritetest.Units))
				if moves = moves || m; p != "" && problem == "" {
					problem = fmt.Sprintf("family %d, neighbour %d: %s: %s\n%s", f, i, q.from, p, q.sql)
				}
			}
		}
		if problem != "" {
			problems = append(problems, problem)
		}
		if moves {
			moving++
		}
	}
	return problems, len(able), moving
}

// compared says how two answers of neighbours differ by more than the outputs' bounds, or at all if they may not.
func compared(outputs []certify.Output, a, b answered, alike bool) (problem string, moves bool) {
	for _, x := range []answered{a, b} {
		var e *pgconn.PgError
		if x.err != nil && errors.As(x.err, &e) && e.Code == "57014" {
			return "", false // too slow to say
		}
		if x.err != nil {
			return fmt.Sprintf("it fails: %v", x.err), false
		}
	}
	left, problem := integersOf(outputs, a.rows)
	right, problemOf := integersOf(outputs, b.rows)
	if problem+problemOf != "" {
		return problem + problemOf, false
	}
	for i, o := range outputs {
		if o.Kind != certify.Integer {
			continue
		}
		places, total, groups, furthest := map[string]*big.Rat{}, new(big.Rat), new(big.Rat), new(big.Rat)
		for key := range union(left, right) {
			d := new(big.Rat).Sub(left[key].at(i), right[key].at(i))
			if d.Abs(d).Sign() == 0 {
				continue
			}
			moves = true
			groups.Add(groups, big.NewRat(1, 1))
			total.Add(total, d)
			if above(d, furthest) {
				furthest = d
			}
			place := left[key].place + right[key].place
			if left[key].values != nil {
				place = left[key].place
			}
			if places[place] == nil {
				places[place] = new(big.Rat)
			}
			places[place].Add(places[place], d)
			switch {
			case alike:
				return "rows without a unit count", true
			case above(d, o.Delta):
				return fmt.Sprintf("output %d moves by %s in a group, certified %s", i+1, d.RatString(), o.Influence), true
			case above(places[place], o.Place):
				return fmt.Sprintf("output %d moves by %s in a place, certified %s", i+1, places[place].RatString(), o.Influence),
					true
			}
		}
		squares := new(big.Rat).Mul(furthest, furthest)
		if above(total, o.Total) || above(groups, o.Groups) || above(squares.Mul(squares, groups), o.Squares) {
			return fmt.Sprintf("output %d moves by %s in all, by %s in one of %s groups, certified %s", i+1, total.RatString(),
				furthest.RatString(), groups.RatString(), o.Influence), true
		}
	}
	return "", moves
}

func above(d, bound *big.Rat) bool { return bound != nil && d.Cmp(bound) > 0 }

func union(a, b map[string]integersAt) map[string]bool {
	all := map[string]bool{}
	for k := range a {
		all[k] = true
	}
	for k := range b {
		all[k] = true
	}
	return all
}

// integersAt are the integers of a group, and its public keys.
type integersAt struct {
	place  string
	values []*big.Rat
}

func (n integersAt) at(i int) *big.Rat {
	if n.values == nil {
		return new(big.Rat)
	}
	return n.values[i]
}

// integersOf reads the integers of an answer by their keys.
func integersOf(outputs []certify.Output, rows [][]*string) (map[string]integersAt, string) {
	all := map[string]integersAt{}
	if !slices.ContainsFunc(outputs, func(o certify.Output) bool { return o.Kind == certify.Integer }) {
		return all, ""
	}
	for _, r := range rows {
		key, n := "", integersAt{values: make([]*big.Rat, len(outputs))}
		for i, o := range outputs {
			text := "NULL"
			if r[i] != nil {
				text = fmt.Sprintf("%q", *r[i])
			}
			if o.Kind != certify.Integer {
				if key += text + " "; o.Kind == certify.Public {
					n.place += text + " "
				}
				continue
			}
			k := new(big.Int)
			if r[i] == nil {
				return nil, fmt.Sprintf("output %d is NULL", i+1)
			}
			if _, ok := k.SetString(*r[i], 10); !ok {
				return nil, fmt.Sprintf("output %d is no integer: %s", i+1, *r[i])
			}
			n.values[i] = new(big.Rat).SetInt(k)
		}
		if all[key].values != nil {
			return nil, "two rows have the key " + key
		}
		all[key] = n
	}
	return all, ""
}

// TestNeighbours runs texts that no planner wrote, and that Check certified, on hostile databases and their neighbours:
// no integer moves by more than certified, and no row makes one fail.
func TestNeighbours(t *testing.T) {
	batches, size, families := fullBatches, batch, families
	if testing.Short() {
		batches, size, families = 1, 300, 1
	}
	r := &random{Rand: rand.New(rand.NewPCG(29, 1))}
	n, s := newCluster(t, families), newSource(t, r)
	certified, ran, moving, bounded, failed := 0, 0, 0, 0, 0
	for number := range batches {
		n.fill(t, r, number)
		var texts []tried
		for len(texts) < size {
			q := s.next()
			texts = append(texts, q)
			if certified++; slices.ContainsFunc(q.outputs, func(o certify.Output) bool { return o.Delta != nil }) {
				bounded++
			}
		}
		problems, run, moves := n.try(texts)
		ran, moving = ran+run, moving+moves
		for _, p := range problems {
			if failed++; failed <= 20 {
				t.Error(p)
			}
		}
		t.Logf("%d texts written, %d certified (%d with a bound in a group), %d run by PostgreSQL, %d of them move, %d fail",
			s.asked, certified, bounded, ran, moving, failed)
	}
}

// TestMutantNeighbours runs the mutants of one change that pass Check with the bounds of their originals, in the same
// way.
func TestMutantNeighbours(t *testing.T) {
	if testing.Short() {
		t.Skip("all of them take minutes")
	}
	r := &random{Rand: rand.New(rand.NewPCG(29, 2))}
	n := newCluster(t, 1)
	var texts []tried
	seen := map[string]bool{}
	everyMutant(t, func(m measured, kind, _, text string, claims []certify.Claim) {
		if kind == twoChanges || seen[text] {
			return
		}
		seen[text] = true
		if c, err := certify.Check(clinic, text, m.parameters, claims); err == nil {
			texts = append(texts, tried{from: kind + " in " + m.file, sql: text, parameters: m.parameters, outputs: c.Outputs})
		}
	})
	ran, moving, number := 0, 0, 0
	for some := range slices.Chunk(texts, batch) {
		n.fill(t, r, number)
		number++
		problems, run, moves := n.try(some)
		ran, moving = ran+run, moving+moves
		for _, p := range problems {
			t.Error(p)
		}
		t.Logf("%d mutants pass, %d run by PostgreSQL, %d of them move", len(texts), ran, moving)
	}
}
