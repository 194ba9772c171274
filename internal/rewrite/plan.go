package rewrite

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/rewrite/catalog"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// Plan computes what is charged and run for a private statement, with the values of its parameters.
func (a *Analysis) Plan(v Values, lookup Lookup, o Options) (_ *Plan, err error) {
	defer guarded(&err)
	b := a.builder()
	b.values, b.known, b.lookup, b.opts = v, true, lookup, o
	tree := clone(a.query)
	if err := b.finishQuery(tree, nil); err != nil {
		return nil, b.refusal(err)
	}
	p := &Plan{}
	index := b.printBlocks(p)
	if err := b.verifyPlan(p, index); err != nil {
		slog.Error("a measure query is not what was planned", "error", err)
		return nil, pgerr.New(pgerr.InternalError, "the statement could not be analysed", pgerr.Hint("This is a fault of dpproxy; its log has the details. Write the query in another form."))
	}
	b.costs(p)
	if err := b.printFinish(a, tree, p, index); err != nil {
		return nil, err
	}
	b.proofs(p)
	for i, k := range b.blocks {
		p.Explain = append(p.Explain, k.explain(i)...)
	}
	p.Fingerprint = b.fingerprint(p)
	return p, nil
}

// printBlocks prints the measure queries; equal blocks are measured once. It returns, for every planned block, its number in
// the plan.
func (b *builder) printBlocks(p *Plan) []int {
	index := make([]int, len(b.blocks))
	seen := map[string]int{}
	for i, k := range b.blocks {
		block := Block{}
		if !k.src.empty {
			block = Block{Releases: k.releases, Select: k.selectRelease(), Columns: k.columns, Steps: k.steps}
			if k.pick {
				block.Picked, block.Unit = k.groups, k.src.kind
			}
			measure, releases := b.measureSQL(k)
			if measure != nil {
				block.Measure, block.Measured = query.Print(measure), releases
			}
			for _, h := range k.hists {
				block.Histograms = append(block.Histograms, Histogram{Measure: query.Print(b.histogramSQL(k, h)), Releases: h.releases})
			}
		}
		for _, g := range k.keys {
			block.KeyTypes = append(block.KeyTypes, g.Type())
		}
		if !k.selected {
			block.Keys = k.product()
		}
		key := blockKey(&block)
		if j, ok := seen[key]; ok {
			index[i] = j
			continue
		}
		seen[key], index[i] = len(p.Blocks), len(p.Blocks)
		p.Blocks = append(p.Blocks, block)
	}
	return index
}

// blockKey is equal for blocks that measure and release the same.
func blockKey(b *Block) string {
	text, err := json.Marshal(b.normalised())
	if err != nil {
		panic(err) // plain data
	}
	return string(text)
}

// normalised is the block without what differs between equal ones: names, and the work, which follows sizes of public tables that the
// answer does not.
func (b Block) normalised() Block {
	b.Columns, b.Steps = nil, 0
	b.Releases = slices.Clone(b.Releases)
	for i := range b.Releases {
		b.Releases[i].Name = ""
	}
	return b
}

// costs shares the statement's ε over the releases by weight (PRIVACY 14), and finds the statement's ε: the least of the
// tables' that it reads.
func (b *builder) costs(p *Plan) {
	total := 0
	weights := make([]int, len(p.Blocks))
	for i := range p.Blocks {
		for _, r := range p.Blocks[i].Releases {
			weights[i] += r.Weight
		}
		if p.Blocks[i].Select != nil {
			weights[i] += p.Blocks[i].Select.Weight
		}
		total += weights[i]
	}
	for i := range p.Blocks {
		if total > 0 {
			p.Blocks[i].Epsilon = float64(weights[i]) / float64(total)
		}
	}
	p.Epsilon, p.EpsilonMax = b.schema.Policy.Defaults.Epsilon, b.schema.Policy.Defaults.EpsilonMax
	first := true
	for _, k := range b.blocks {
		for _, t := range k.src.tables {
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
	if total == 0 {
		p.Epsilon = 0
	}
}

// proofs collects what the plan relies on, each once.
func (b *builder) proofs(p *Plan) {
	for _, k := range b.blocks {
		for _, f := range slices.Concat(k.src.proofs, k.proofs) {
			if !slices.ContainsFunc(p.Proofs, f.Equal) {
				p.Proofs = append(p.Proofs, f)
			}
		}
	}
}

// template is the finish query without the reads of released values: the same for all parameter values.
type template struct {
	once sync.Once
	sql  string
	on   Route
	args []FinishArg // the client's parameters that it uses, numbered without gaps
	err  error
}

// printFinish prints the client's statement over released values.
func (b *builder) printFinish(a *Analysis, tree *pg_query.SelectStmt, p *Plan, index []int) error {
	t := a.template
	t.once.Do(func() { t.err = b.printTemplate(a, tree, t) })
	if t.err != nil {
		return t.err
	}
	f := &finishText{b: b, args: slices.Clone(t.args)}
	text := t.sql
	for i, u := range b.unions {
		text = strings.Replace(text, stubText(i), "("+f.union(u, index)+")", 1)
	}
	p.Finish = Finish{SQL: text, On: t.on, Args: f.args}
	return nil
}

// printTemplate deparses the finish tree and has the catalog room check every name in it.
func (b *builder) printTemplate(a *Analysis, tree *pg_query.SelectStmt, t *template) error {
	numbers := map[int32]int32{}
	renumber := func(n *pg_query.Node) (*pg_query.Node, bool, error) {
		r := n.GetParamRef()
		if r == nil {
			return n, true, nil
		}
		if numbers[r.Number] == 0 {
			numbers[r.Number] = int32(len(t.args) + 1)
			t.args = append(t.args, FinishArg{Type: b.desc.ParameterTypes[r.Number-1], Parameter: int(r.Number), Key: -1, Release: -1})
		}
		r.Number = numbers[r.Number]
		return n, true, nil
	}
	if err := rewriteNodes(tree.ProtoReflect(), renumber); err != nil {
		return err
	}
	b.stubs(tree)
	text, err := deparse(tree)
	if err != nil {
		return err
	}
	again, err := pg_query.Parse(text)
	if err != nil {
		return err
	}
	in := a.catalogInput()
	in.Parameters = len(t.args)
	r, err := catalog.Check(again.Stmts[0].Stmt, text, in)
	if err != nil {
		return withoutPosition(err)
	}
	if len(r.Supplies) > 0 || len(r.Assignments) > 0 {
		return pgerr.New(pgerr.FeatureNotSupported, "settings and dpproxy's own tables cannot be used together with private tables", pgerr.Hint("Ask for them in a statement of their own."))
	}
	t.sql, t.on = r.SQL, RouteShadow
	if r.Route == catalog.Public {
		t.on = RoutePublic
	}
	return nil
}

// fingerprint names the question: the same for every text that measures and releases the same. It is made of the very SQL that
// main runs, so two questions that could have different answers never share one. What the finish query computes of the
// released values, and how it names them, is no part of it: it is free.
func (b *builder) fingerprint(p *Plan) string {
	type parts struct {
		Blocks   []Block
		Domains  []string
		Settings Settings
	}
	blocks := slices.Clone(p.Blocks)
	for i := range blocks {
		blocks[i] = blocks[i].normalised()
	}
	text, err := json.Marshal(parts{blocks, b.domains, b.settings})
	if err != nil {
		panic(err) // plain data
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// explain prints a block's plan tree.
func (k *block) explain(i int) []string {
	if k.src.empty {
		return []string{fmt.Sprintf("block %d: no row can satisfy the condition; nothing is measured", i+1)}
	}
	lines := []string{fmt.Sprintf("block %d: %d releases, at most %d groups per unit, %s", i+1, len(k.releases), k.groups, k.shape())}
	for _, r := range k.releases {
		line := fmt.Sprintf("  %s: %s, sensitivity %d × %g", r.Name, r.Kind, r.Sensitivity, stepOf(r))
		if r.Margin > 0 {
			line += fmt.Sprintf(", margin %d × %g", r.Margin, stepOf(r))
		}
		lines = append(lines, line)
	}
	for _, g := range k.keys {
		how := fmt.Sprintf("%d values", len(g.values))
		if k.selected {
			how = "partition selection"
		}
		lines = append(lines, fmt.Sprintf("  key %s: %s", g.Text(), how))
	}
	return append(lines, k.src.plan.lines("  ")...)
}

func stepOf(r mechanism.Release) float64 {
	if r.Grid.Step == 0 {
		return 1
	}
	return r.Grid.Step
}

func (k *block) shape() string {
	if k.single() {
		return "one row per unit"
	}
	if k.pick {
		return "summed and clamped per unit, groups chosen by keyed hash"
	}
	return "summed and clamped per unit"
}
