package engine

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// margin is how far a number may be off in some groups.
type margin struct {
	groups      int
	known       int     // groups that have one, from
	least, most float64 // the least to the widest
	without     int     // groups that have none, and are not NULL
}

// add adds a group. Its margin is not known, where it is NULL or has no end.
func (m *margin) add(by float64, ok, null bool) {
	switch {
	case ok && !math.IsInf(by, 0) && !math.IsNaN(by):
		m.join(margin{known: 1, least: by, most: by})
	case !null:
		m.without++
	}
}

// join adds other groups.
func (m *margin) join(o margin) {
	switch {
	case m.known == 0:
		m.least, m.most = o.least, o.most
	case o.known > 0:
		m.least, m.most = math.Min(m.least, o.least), math.Max(m.most, o.most)
	}
	m.groups, m.known, m.without = m.groups+o.groups, m.known+o.known, m.without+o.without
}

// unknown is that of what nobody knows, in an answer.
func (p *calibrated) unknown(answer []released) (m margin) {
	for _, r := range answer {
		m.groups = max(m.groups, r.Keys.Len())
	}
	m.without = m.groups
	return m
}

// figure is how far a result column, or an aggregate that is in one, may be off.
type figure struct {
	margin
	label, written string // the other: of an aggregate
	typ            uint32
	of             *rewrite.Formula
	output         bool // it is a result column
}

// leaf is an aggregate of a block, or a window over its groups.
type leaf struct {
	op            string
	block, column int
}

func leafOf(f *rewrite.Formula) leaf { return leaf{f.Op, f.Block, f.Column} }

func (l leaf) formula() *rewrite.Formula {
	return &rewrite.Formula{Op: l.op, Block: l.block, Column: l.column}
}

// figures has one for each result column that released values are in, and for each other aggregate, and each other
// window that is a column.
func (p *calibrated) figures(answer []released) (list []figure) {
	shown := map[leaf]bool{} // what is a result column
	for _, o := range p.plan.Outputs {
		for _, x := range o.Of {
			shown[leafOf(x.Same())] = true
		}
	}
	for _, o := range p.plan.Outputs {
		if f := p.ofOutput(o, answer, shown); f.of != nil {
			list = append(list, f)
		}
	}
	tellApart(list)
	var others []figure
	add := func(f figure, output string) {
		if output != "" && !slices.ContainsFunc(list, func(o figure) bool { return o.label == output }) {
			f.label = output
		}
		others = p.together(others, f)
	}
	for i, block := range p.plan.Blocks {
		for j, column := range block.Columns {
			if of := (leaf{rewrite.FormulaAggregate, i, j}); len(column.Releases) > 0 && !shown[of] { // else it is a constant
				add(p.ofColumn(of.formula(), answer), column.Output)
			}
		}
		for j, w := range block.Windows {
			if of := (leaf{rewrite.FormulaWindow, i, j}); w.Output != "" && !shown[of] {
				add(p.ofWindow(of.formula(), answer), w.Output)
			}
		}
	}
	list = append(list, others...)
	numbered(list)
	return list
}

// ofOutput is the figure of a result column; of is nil where there is nothing to say of it, or what there is is said of
// the aggregate that it rounds.
func (p *calibrated) ofOutput(o rewrite.Output, answer []released, shown map[leaf]bool) figure {
	out := figure{label: o.Name, output: true}
	said := true
	for _, x := range o.Of {
		x = x.Same()
		f := figure{of: x}
		rounds := x.Rounded()
		switch {
		case !x.Derived():
			continue
		case x.Op == rewrite.FormulaWindow:
			f = p.ofWindow(x, answer)
		case rounds != nil && len(p.column(rounds).Releases) == 0:
			continue // a constant
		case rounds != nil:
			f = p.ofColumn(rounds, answer)
		default:
			f.margin = p.ofFormula(x, answer)
		}
		said = said && rounds != nil && !shown[leafOf(rounds)] && f.known > 0 && f.without == 0
		if out.join(f.margin); out.of == nil {
			out.of, out.typ, out.written = f.of, f.typ, f.written
		}
	}
	if said {
		out.of = nil
	}
	return out
}

// ofColumn is the figure of an aggregate by itself.
func (p *calibrated) ofColumn(of *rewrite.Formula, answer []released) figure {
	c := p.column(of)
	return figure{margin: p.margin(of.Block, *c, answer[of.Block]), label: c.Name, written: c.Name, typ: c.Type, of: of}
}

// column is the first aggregate that a formula is of, or adds up; nil: it is of none.
func (p *calibrated) column(of *rewrite.Formula) *rewrite.Column {
	switch leaf := of.Leaf(); {
	case leaf == nil:
		return nil
	case leaf.Op == rewrite.FormulaWindow:
		return &p.plan.Blocks[leaf.Block].Windows[leaf.Column].Column
	default:
		return &p.plan.Blocks[leaf.Block].Columns[leaf.Column]
	}
}

// tellApart gives result columns of one name, each of which is another aggregate, that of what they are («avg» is what
// PostgreSQL calls every average).
func tellApart(list []figure) {
	var apart []int
	for i, f := range list {
		same := func(o figure) bool { return o.label == f.label }
		computed := func(o figure) bool { return same(o) && o.written == "" }
		another := func(o figure) bool { return same(o) && o.written != f.written }
		if slices.ContainsFunc(list, another) && !slices.ContainsFunc(list, computed) {
			apart = append(apart, i)
		}
	}
	for _, i := range apart {
		list[i].label = list[i].written
	}
}

// numbered numbers figures of one label that say different things.
func numbered(list []figure) {
	for i, f := range list {
		same := func(o figure) bool { return o.label == f.label }
		if !slices.ContainsFunc(list[i+1:], func(o figure) bool { return same(o) && !o.equal(f.margin) }) {
			continue
		}
		for j, n := i, 1; j < len(list); j++ {
			if same(list[j]) {
				list[j].label = fmt.Sprintf("%s (%d)", f.label, n)
				n++
			}
		}
	}
}

// equal says that two have the same margins.
func (m margin) equal(o margin) bool {
	return m.known > 0 == (o.known > 0) && m.least == o.least && m.most == o.most
}

// together adds the figure of an aggregate to a list, or to that of the same aggregate in another grouping set, or to
// one that says the same.
func (p *calibrated) together(list []figure, f figure) []figure {
	at := slices.IndexFunc(list, func(o figure) bool {
		return o.label == f.label && (o.equal(f.margin) || p.oneColumn(o.of.Block, f.of.Block))
	})
	if at < 0 {
		return append(list, f)
	}
	list[at].join(f.margin)
	return list
}

// oneColumn says that the rows of a result column are groups of two blocks.
func (p *calibrated) oneColumn(a, b int) bool {
	return slices.ContainsFunc(p.plan.Outputs, func(o rewrite.Output) bool {
		reads := func(block int) bool {
			return slices.ContainsFunc(o.Of, func(f *rewrite.Formula) bool {
				return f.Has(func(x *rewrite.Formula) bool { return x.Op == rewrite.FormulaAggregate && x.Block == block })
			})
		}
		return len(o.Of) > 1 && reads(a) && reads(b)
	})
}

// withoutMargin names the result columns that have no margin, and says what gives one; empty: all have one. Numbers of
// places have none where the answer says how many are certain.
func (p *calibrated) withoutMargin(list []figure, placed ordering) string {
	var names []string
	quantile := false
	for _, f := range list {
		ranks := f.of.Op == rewrite.FormulaRank && placed.shown > 0 && placed.ranked
		said := ranks && reflect.DeepEqual(f.of.Args[0], placed.by)
		switch {
		case !f.output || f.groups == 0 || said:
			continue
		case f.known == 0:
			names = append(names, f.label)
		case f.without > 0:
			names = append(names, fmt.Sprintf("%s in %d of %d groups", f.label, f.without, f.groups))
		}
		if x := f.of.Rounded(); x != nil && f.known == 0 {
			c := p.column(x)
			single := len(c.Releases) == 1 && c.Low+c.High == 0 && !c.Chooses // else its ends are those of its range
			quantile = quantile || single && p.plan.Blocks[x.Block].Releases[c.Releases[0]].Kind == mechanism.Quantile
		}
	}
	if len(names) == 0 {
		return ""
	}
	hint := "No margin is known of " + strings.Join(names, ", ") + "."
	if quantile {
		hint += " dpproxy.interval_low and dpproxy.interval_high beside a minimum, a maximum or a percentile give it an interval."
	}
	return hint
}
