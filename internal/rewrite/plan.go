package rewrite

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/finish"
	"github.com/dpproxy/dpproxy/internal/rewrite/measure"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/release"
)

// planning is one planning of a private statement: the blocks of its queries, those of its stages before its own.
type planning struct {
	*relation.Base
	cut     *finish.Statement
	queries []*finish.Planned
	seen    map[string]int // blocks of the plan, by blockKey
}

// planning begins one planning: it plans the statement's blocks for the values of its parameters.
func (a *Analysis) planning(ctx context.Context, v Values, lookup Lookup, o Options) (*planning, error) {
	base := a.base(ctx)
	base.Values, base.Lookup, base.HashKey, base.KeepsEmpty = v, lookup, o.HashKey, o.KeepsEmpty
	queries, err := finish.Plan(base, a.cut)
	if err != nil {
		return nil, base.Refusal(err)
	}
	b := &planning{base, a.cut, queries, map[string]int{}}
	for _, k := range b.blocks() {
		if base.Distributed(k.Source) && k.ReadsDomains() {
			return nil, errDistributed
		}
	}
	return b, nil
}

// errDistributed is for what workers cannot send.
var errDistributed = refusal.New(refusal.AnotherForm,
	"the main database is distributed, and cannot group by columns of a domain type or count distinct rows",
	pgerr.Hint("Nothing was charged. Group by other columns, or count the distinct values of one column."))

// Plan computes what is charged and run for a private statement, with the values of its parameters. It stops where ctx
// ends.
func (a *Analysis) Plan(ctx context.Context, v Values, lookup Lookup, o Options) (_ *Plan, err error) {
	defer guarded(&err)
	b, err := a.planning(ctx, v, lookup, o)
	if err != nil {
		return nil, err
	}
	p := &Plan{CutConditions: b.CutConditions}
	var planned []*release.Block // of each block of the plan
	var index [][]int
	for i, q := range b.queries {
		index = append(index, b.printBlocks(q, p, &planned))
		p.Finish = b.cut.Queries[i].Print(q, index[i])
		p.OverShown = p.OverShown || b.cut.Queries[i].OverShown()
		if i < len(b.queries)-1 {
			p.Stages = append(p.Stages, b.cut.Stage(i, p.Finish, len(p.Blocks)))
		}
	}
	last := len(b.queries) - 1
	p.Outputs, p.Order = b.cut.Queries[last].Answer(b.queries[last], func(block, column int, window bool) (int, int) {
		return b.inPlan(p, index[last][block], b.queries[last].Blocks[block], column, window)
	})
	b.numberLayers(p.Blocks, planned, p.stage)
	p.run()
	b.levels(p, index)
	p.Beyond = b.Beyond()
	b.explain(p, index)
	b.costs(p)
	b.proofs(p)
	p.Fingerprint = b.fingerprint(p)
	return p, nil
}

// releaseBytes is what a plan takes for each release, beside its texts.
const releaseBytes = 4 << 10

// Bytes is about how much memory a plan takes: that of its releases and texts, and of its keys, here and in its
// queries.
func (p *Plan) Bytes() int {
	n := len(p.Finish.SQL)
	for _, line := range p.Explain {
		n += len(line)
	}
	for i := range p.Blocks {
		n += releaseBytes*len(p.Blocks[i].Releases) + p.Blocks[i].textBytes()
		for _, parameter := range p.Blocks[i].Measure.Parameters {
			if parameter.Value != nil {
				n += 3 * len(*parameter.Value)
			}
		}
		if p.Blocks[i].ByKey {
			n += release.KeyBytes(p.Blocks[i].Keys)
		}
	}
	return n
}

// textBytes is the length of a block's queries for main.
func (b *Block) textBytes() int {
	n := len(b.Measure.Text)
	for _, h := range b.Histograms {
		n += len(h.Measure.Text)
	}
	return n
}

// explain prints the plan tree of every block, under the stage that it is released for.
func (b *planning) explain(p *Plan, index [][]int) {
	before, explained := 0, map[int]bool{} // those of the stages before
	number := map[int]int{}                // as it is printed first, by block
	for i, q := range b.queries {
		if i < len(b.queries)-1 {
			p.Explain = append(p.Explain, fmt.Sprintf("stage %d: answered first, for the rows of what follows", i+1))
		}
		for j, k := range q.Blocks {
			if !explained[index[i][j]] {
				p.Explain = append(p.Explain, k.Explain(before, p.Blocks[index[i][j]].Releases)...)
				p.OverNoRows = append(p.OverNoRows, k.OverNoRows()...)
				before++
				if number[index[i][j]] == 0 {
					number[index[i][j]] = before
				}
			}
		}
		for _, number := range index[i] {
			explained[number] = true
		}
	}
	p.Explain = append(p.Explain, p.explainLevels(number)...)
}

// stage is the number of stages that are answered before a block is measured.
func (p *Plan) stage(block int) int {
	n := 0
	for n < len(p.Stages) && p.Stages[n].Blocks <= block {
		n++
	}
	return n
}

// blockSteps is what it takes to print a block, a release or a histogram, and to read that again.
const blockSteps = 120

// printBlocks adds the measure queries of a query's blocks to the plan; equal blocks are measured once. It returns, for
// every planned block, its number in the plan.
func (b *planning) printBlocks(q *finish.Planned, p *Plan, planned *[]*release.Block) []int {
	index := make([]int, len(q.Blocks))
	for i, k := range q.Blocks {
		b.Take(blockSteps * (1 + len(k.Releases) + len(k.Histograms)))
		block := Block{}
		if !k.Source.Empty {
			block = Block{
				Releases: k.Releases, Select: k.SelectRelease(), SelectBy: k.SelectBy, Columns: k.Columns,
				Steps: k.Steps, Exists: k.Exists, ByKey: k.ByKey,
			}
			block.Unit, block.MostRows = k.Source.UnitName, k.Source.MaxRows
			if k.PicksGroups {
				block.Picked = k.MaxPartitionsContributed
			}
			k.Cover(b.Base)
			block.Rows, block.LeftOut = k.LeftOut()
			block.RowsInGroup = k.MaxRowsPerGroup
			block.Beyond, block.Uncovered = k.BeyondGroups(), k.Uncovered
			if totals, releases := measure.Integers(b.Base, k); totals != nil {
				block.Measure, block.Measured = measure.Print(b.Base, k, totals), releases
			}
			for _, h := range k.Histograms {
				block.Histograms = append(block.Histograms, Histogram{
					Measure:  measure.Print(b.Base, k, measure.Histogram(b.Base, k, h)),
					Releases: h.Releases,
				})
			}
		}
		for _, g := range k.Keys {
			block.KeyTypes = append(block.KeyTypes, g.Type())
		}
		block.DropsEmpty, block.Compared, block.Limit, block.Chosen, block.Windows = k.DropsEmpty, k.Compared, k.Limit,
			k.Chosen, k.Windows
		block.Sums = k.Sums()
		if !k.Selected {
			block.Keys = k.Product()
		}
		if len(b.queries) == 1 { // a stage answers no other statement
			block.Question = k.Question(b.Base)
		}
		key := blockKey(&block)
		if j, ok := b.seen[key]; ok {
			index[i] = j
			p.Blocks[j].addColumns(block.Columns)
			p.Blocks[j].Windows = append(p.Blocks[j].Windows, block.Windows...)
			p.Blocks[j].Sums = slices.DeleteFunc(p.Blocks[j].Sums, func(s release.Sum) bool {
				return !slices.ContainsFunc(block.Sums, s.Equal)
			})
			if block.Limit > 0 && (p.Blocks[j].Limit == 0 || block.Limit < p.Blocks[j].Limit) {
				p.Blocks[j].Limit = block.Limit
			}
			p.Blocks[j].Chosen = p.Blocks[j].Chosen || block.Chosen
			p.Blocks[j].Compared = p.Blocks[j].Compared && block.Compared
			continue
		}
		b.Take(block.textBytes()) // the gate reads it again
		b.seen[key], index[i] = len(p.Blocks), len(p.Blocks)
		p.Blocks, *planned = append(p.Blocks, block), append(*planned, k)
	}
	return index
}

// run says which releases have noise for running totals: in each block those that are added up in one order.
func (p *Plan) run() {
	for i := range p.Blocks {
		b := &p.Blocks[i]
		for _, s := range b.Sums {
			if s.Along(b.Sums[0]) {
				b.Running, b.Releases[s.Release].Running = s.Order, s.Length
			}
		}
	}
}

// blocks lists the planned blocks of all queries.
func (b *planning) blocks() []*release.Block {
	var all []*release.Block
	for _, q := range b.queries {
		all = append(all, q.Blocks...)
	}
	return all
}

// blockKey is equal for blocks that measure and release the same.
func blockKey(b *Block) string {
	text, err := json.Marshal(b.normalised())
	if err != nil {
		panic(err) // plain data
	}
	sum := sha256.Sum256(text)
	return string(sum[:])
}

// addColumns adds the aggregates of an equal block.
func (b *Block) addColumns(list []Column) {
	for _, c := range list {
		if i := slices.IndexFunc(b.Columns, func(o Column) bool { return sameColumn(c, o) }); i >= 0 {
			b.Columns[i].Chooses = b.Columns[i].Chooses || c.Chooses
			continue
		}
		b.Columns = append(b.Columns[:len(b.Columns):len(b.Columns)], c)
	}
}

// inPlan finds an aggregate of a block, or a window over its groups, among those of the block of the plan; -1: no row
// can be.
func (b *planning) inPlan(p *Plan, at int, k *release.Block, column int, window bool) (block, place int) {
	if window {
		return at, slices.IndexFunc(p.Blocks[at].Windows, func(w Window) bool {
			return reflect.DeepEqual(w, k.Windows[column])
		})
	}
	return at, slices.IndexFunc(p.Blocks[at].Columns, func(c Column) bool { return sameColumn(c, k.Columns[column]) })
}

func sameColumn(a, b Column) bool {
	return a.Name == b.Name && a.Output == b.Output && a.Type == b.Type && slices.Equal(a.Releases, b.Releases)
}

// Shows reports whether anything that was released of a group says that it has rows.
func (b *Block) Shows(value func(release int) int64) bool {
	return !b.DropsEmpty || slices.ContainsFunc(b.Exists, func(i int) bool { return value(i) != 0 })
}

// Asked reports whether the statement asks for a release; it may be there to say which groups exist alone.
func (b *Block) Asked(release int) bool {
	return !slices.Contains(b.Exists, release) || slices.ContainsFunc(
		b.Columns, func(c Column) bool { return slices.Contains(c.Releases, release) })
}

// normalised is the block without what differs between equal ones: names, and the work and rows, which follow sizes of
// public tables that the answer does not.
func (b Block) normalised() Block {
	b.Columns, b.Windows, b.Sums, b.Beyond, b.Uncovered, b.Steps, b.MostRows = nil, nil, nil, nil, false, 0, 0
	b.Releases = slices.Clone(b.Releases)
	for i := range b.Releases {
		b.Releases[i].Name = ""
	}
	return b
}

// costs finds the statement's ε: the least of the tables' that it reads. A statement that releases nothing costs
// nothing.
func (b *planning) costs(p *Plan) {
	p.Epsilon, p.EpsilonMax = b.Schema.Policy.Defaults.Epsilon, b.Schema.Policy.Defaults.EpsilonMax
	first := true
	for _, k := range b.blocks() {
		for _, t := range k.Source.Tables {
			if t.Public {
				continue
			}
			if first || t.Epsilon < p.Epsilon {
				p.Epsilon = t.Epsilon
			}
			if first || t.EpsilonMax < p.EpsilonMax {
				p.EpsilonMax = t.EpsilonMax
			}
			first = false
		}
	}
	if !slices.ContainsFunc(p.Blocks, func(k Block) bool { return k.Select != nil || len(k.Releases) > 0 }) {
		p.Epsilon = 0
	}
}

// proofs collects what the plan relies on, each once.
func (b *planning) proofs(p *Plan) {
	all := slices.Clone(b.PublicProofs)
	for _, k := range b.blocks() {
		all = append(all, slices.Concat(k.Source.Proofs, k.Proofs)...)
	}
	add := func(f Proof) {
		if !slices.ContainsFunc(p.Proofs, f.Equal) {
			p.Proofs = append(p.Proofs, f)
		}
	}
	for _, f := range all {
		if f.Shape == "" {
			add(f)
			continue
		}
		r := b.Schema.Relations[f.Relation]
		if add(r.ShapeProof(b.Relied)); r.Kind == 'p' && len(r.Unique) > 0 { // then no partition is a foreign table (certify)
			add(Proof{Relation: r.Name, Columns: r.Unique[0]})
		}
	}
}

// fingerprint names the question: the same for every text that measures and releases the same. It is made of the very
// SQL that main runs, so two questions that could have different answers never share one. What the finish query
// computes of the released values, and how it names them, is no part of it: it is free.
func (b *planning) fingerprint(p *Plan) string {
	type question struct {
		SQL        string
		Args       []FinishArg // which released values it reads
		Parameters []*Canonical
	}
	type parts struct {
		Blocks   []Block
		Stages   []question // what a stage computes is read by measures
		Domains  map[string][]Canonical
		Settings Settings
	}
	blocks := slices.Clone(p.Blocks)
	for i := range blocks {
		blocks[i] = blocks[i].normalised()
		blocks[i].DropsEmpty, blocks[i].Exists = false, nil // which groups are shown follows from what is released
	}
	var stages []question
	for _, s := range p.Stages {
		q := question{SQL: s.Query.SQL}
		for _, a := range s.Query.Args {
			if a.Parameter > 0 {
				q.Parameters = append(q.Parameters, b.Values[a.Parameter-1])
				a.Parameter = len(q.Parameters)
			}
			q.Args = append(q.Args, a)
		}
		stages = append(stages, q)
	}
	settings := b.Settings
	// blocks have what the first bounds; the second is computed of an answer
	settings.MaxRows, settings.Intervals = 0, false
	settings.User, settings.Database = "", "" // no query for main has them
	text, err := json.Marshal(parts{blocks, stages, b.Domains, settings})
	if err != nil {
		panic(err) // plain data
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
