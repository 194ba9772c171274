package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dpproxy/dpproxy/internal/engine/estimate"
	"github.com/dpproxy/dpproxy/internal/gate"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite"
	"github.com/dpproxy/dpproxy/internal/session"
)

// What an answer that is kept determines is free: one of its groups, or a sum of them (docs/privacy.md P23b). A
// statement is held against those of the same analyst whose answers are kept, and each of these is planned again, as if
// it were asked now: what it would not be answered by for nothing determines nothing.

const (
	// mostStatements bounds the statements of an analyst that others are held against.
	mostStatements = 64
	// mostStatementBytes bounds the text, values and plan of each, allStatementBytes those of all analysts together.
	mostStatementBytes, allStatementBytes = 1 << 20, 32 << 20
	// leastStatementBytes is what each takes, or more.
	leastStatementBytes = 8 << 10
)

// keptStatements are the last statements whose answers are kept, and which of these others were made of, by block.
type keptStatements struct {
	*lists[keptKey, keptStatement]
	made *lists[keptKey, [][]string]
}

// keptKey names a statement whose answer is kept.
type keptKey struct{ analyst, answer string }

// keptStatement is a statement whose answer is kept, and what its blocks asked at that time.
type keptStatement struct {
	*call
	blocks []rewrite.Block
	bytes  int // that it takes, about
}

func newKeptStatements() keptStatements {
	const count = allStatementBytes / leastStatementBytes
	return keptStatements{
		newLists[keptKey](count, 0, allStatementBytes, func(k keptStatement) int { return k.bytes }),
		newLists[keptKey](count, 0, allStatementBytes, func(of [][]string) int { return leastStatementBytes * len(of) }),
	}
}

// add notes a statement whose answer is kept, or what it was made of.
func (k keptStatements) add(p *private) {
	if p.from != nil {
		var keys [][]string
		for _, d := range p.from {
			keys = append(keys, d.keys())
		}
		k.made.add(keptKey{p.scope.Analyst, p.key}, keys)
		return
	}
	bytes := leastStatementBytes + p.call.Bytes() + p.Plan.Bytes() + len(p.scope.Settings.Workload())
	for _, value := range p.values {
		bytes += len(value)
	}
	if p.key == "" || p.unkept || bytes > mostStatementBytes {
		return
	}
	var blocks []rewrite.Block
	for _, b := range p.Plan.Blocks {
		if b.Question != nil {
			blocks = append(blocks, rewrite.Block{Question: b.Question, Releases: b.Releases})
		}
	}
	if blocks == nil {
		return
	}
	scope := session.Scope{
		Analyst: p.scope.Analyst, User: p.scope.User, Database: p.scope.Database, Settings: p.scope.Settings,
	}
	c := &call{engine: p.engine, prepared: p.prepared, scope: scope, sql: p.sql, formats: p.formats, values: p.values}
	k.lists.add(keptKey{scope.Analyst, p.key}, keptStatement{c, blocks, bytes})
}

// of gives the last of an analyst.
func (k keptStatements) of(analyst string) (list []keptStatement) {
	for _, s := range k.cache.Values() {
		if s.scope.Analyst == analyst {
			list = append(list, s)
		}
	}
	return list[max(0, len(list)-mostStatements):]
}

// now is the statement as it would be answered for nothing now; nil: it would not.
func (k keptStatement) now(ctx context.Context, s *state) *private {
	out := k.call.now(ctx, s)
	if out == nil || out.findKept(ctx) != nil || out.answer == nil {
		return nil
	}
	return out
}

// now is the statement as it would be planned now; nil: it would be refused, or has nothing of private rows.
func (c *call) now(ctx context.Context, s *state) *private {
	now := *c
	var err error
	now.state = s
	now.analysis, err = now.engine.analyse(ctx, s, now.scope, now.prepared.statement, now.prepared.types,
		s.rewriteSettings(now.scope))
	if err != nil || now.analysis.Route != rewrite.RoutePrivate || len(now.values) != len(now.analysis.parameters) {
		return nil
	}
	calibrated, err := now.calibratedPlan(ctx)
	if err != nil {
		return nil
	}
	return &private{call: &now, calibrated: calibrated}
}

// source is a block of an answer that is kept, and how one of another statement is made of it.
type source struct {
	*rewrite.Made
	of    *private
	block int
	wider float64 // how many times the error of the statement's own answer its errors are, at most
}

const (
	// mostWider is how many times as wide as its own answer's the errors may be of one that is free, where the analyst has
	// not said what the statement has to be worth.
	mostWider = 2
	// widerRounding is how many times as wide counts as none.
	widerRounding = 1 + 1e-6
)

// determine answers the statement by answers that are kept of others, if they determine it and are no worse than its
// own would be, as far as the analyst has a right to expect.
func (p *private) determine(ctx context.Context) error {
	if !p.releases() || p.chargedInParts() {
		return nil
	}
	found, seen := make(found, len(p.Plan.Blocks)), map[string]bool{}
	for _, other := range p.engine.kept.of(p.scope.Analyst) {
		if !p.mayBeMadeOf(other) {
			continue
		}
		now := other.now(ctx, p.state)
		if now == nil || seen[now.key] {
			continue
		}
		seen[now.key] = true
		if err := found.add(ctx, p, now); err != nil {
			return err
		}
	}
	if made := p.madeOfFound(found, p.mostWider()); made != nil {
		p.take(made)
	}
	return nil
}

// mostWider is how many times as wide as its own answer's the errors may be of one that is free.
func (p *private) mostWider() float64 {
	if p.scope.Settings.Epsilon() > 0 || !p.withoutLook().byEpsilon() {
		return widerRounding
	}
	return mostWider * widerRounding
}

// mayBeMadeOf says whether another statement has a block that one of this statement may be made of.
func (p *private) mayBeMadeOf(other keptStatement) bool {
	return slices.ContainsFunc(p.Plan.Blocks, func(b rewrite.Block) bool {
		return slices.ContainsFunc(other.blocks, func(of rewrite.Block) bool { return b.MayBeMadeOf(&of) })
	})
}

// madeOf makes a block of the statement of one of another's answer; nil: it is not made of it.
func (p *calibrated) madeOf(ctx context.Context, c *call, block int, of *private, at int) (*source, error) {
	b, o := &p.Plan.Blocks[block], &of.Plan.Blocks[at]
	if !b.MayBeMadeOf(o) {
		return nil, nil
	}
	l := lookup{ctx: ctx, state: c.state, settings: backendSettings(c.scope), call: c}
	made, err := b.MadeOf(o, l.Rows)
	if err != nil || made == nil {
		return nil, err
	}
	s := &source{Made: made, of: of, block: at}
	for i, r := range b.Releases {
		j := made.Releases[i]
		if made.Most > 1 && !of.adds(at, j) {
			return nil, nil
		}
		if off := errorOf(o.Releases[j], s.mechanism(i)); off > 0 {
			s.wider = max(s.wider, off/errorOf(r, p.Mechanisms[block].Releases[i]))
		}
	}
	return s, nil
}

// adds says that what was drawn of a release in several groups may be added up: a unit counts with as many rows in all
// of them, and it is known what it was before any range has bounded it.
func (p *private) adds(block, release int) bool {
	b := &p.Plan.Blocks[block]
	if b.RowsInGroup > 0 || !b.Question.Releases[release].Adds || !p.Mechanisms[block].Releases[release].Plain() {
		return false
	}
	if p.answer == nil {
		return true // what is drawn now is known
	}
	plain := p.answer[block].Plain
	return release < len(plain) && plain[release] != nil
}

// mechanism is that of a release which is made of others.
func (s *source) mechanism(release int) *mechanism.Prepared {
	return s.of.Mechanisms[s.block].Releases[s.Releases[release]].Added(s.Most)
}

// take has the statement answered by what its blocks are made of. What is left out of the answer is what these leave
// out.
func (p *private) take(made origins) {
	out, plan := *p.calibrated, *p.Plan
	plan.Blocks, out.Plan, out.Mechanisms = slices.Clone(plan.Blocks), &plan, nil
	out.wanted, out.look, out.other, out.Part = make([]map[int]float64, len(made)), nil, nil, made[0].sources[0].of.Part
	p.answer, p.from = nil, made
	for i, d := range made {
		s := d.sources[0]
		b, of := &plan.Blocks[i], &s.of.Plan.Blocks[s.block]
		b.Rows, b.RowsInGroup, b.LeftOut, b.Picked = of.Rows, of.RowsInGroup, of.LeftOut, 0
		b.Uncovered = b.Uncovered || of.Uncovered
		b.Releases = slices.Clone(b.Releases)
		for j := range b.Releases {
			r := of.Releases[s.Releases[j]]
			b.Releases[j].Sensitivity, b.Releases[j].Groups = r.Sensitivity, r.Groups
		}
		out.Mechanisms = append(out.Mechanisms, gate.Mechanisms{Releases: d.mechanisms})
		p.answer = append(p.answer, d.released(b))
	}
	p.calibrated = &out
}

// released are the numbers of a block that is made of another: the same numbers, or sums of what was drawn before it
// was kept within its range.
func (s *source) released(b *rewrite.Block) released {
	r := released{Released: gate.Released{Keys: b.Keys}}
	for i, j := range s.Releases {
		plain, values := s.plain(i), totals(s.of.answer[s.block].Values[j], s.Groups)
		if s.Most > 1 {
			values = bounded(plain, b.Releases[i].Range)
		}
		r.Values, r.Plain = append(r.Values, values), append(r.Plain, plain)
	}
	return r
}

// plain are sums of what was drawn of a release; nil: it is not known.
func (s *source) plain(release int) []int64 {
	of, j := s.of.answer[s.block], s.Releases[release]
	if j >= len(of.Plain) || of.Plain[j] == nil {
		return nil
	}
	return totals(of.Plain[j], s.Groups)
}

// totals adds up the numbers of groups.
func totals(values []int64, groups [][]int) []int64 {
	out := make([]int64, len(groups))
	for g, of := range groups {
		for _, i := range of {
			out[g] += values[i]
		}
	}
	return out
}

// ofKept says which statements' answers the answer is made of; empty: it is not.
func (p *private) ofKept() string {
	if p.from == nil || p.table != nil {
		return ""
	}
	var of []string
	wider := 0.0
	for _, d := range p.from {
		wider = max(wider, d.wider)
		for _, s := range d.sources {
			if text := shortened(s.of.sql); !slices.Contains(of, text) {
				of = append(of, text)
			}
		}
	}
	text := "It follows from what is kept of: " + strings.Join(of, "; ") + "."
	if wider > 1.05 {
		text += fmt.Sprintf(" Margins of its own would be up to %s times narrower: SET dpproxy.epsilon = %s buys them.",
			estimate.Number(wider), estimate.Number(p.epsilon))
	}
	return text
}

// shownBytes bounds the text of another statement that is shown.
const shownBytes = 120

// shortened is a statement in one line.
func shortened(sql string) string {
	text := strings.Join(strings.Fields(sql), " ")
	if len(text) > shownBytes {
		text = strings.ToValidUTF8(text[:shownBytes], "") + "…"
	}
	return text
}
