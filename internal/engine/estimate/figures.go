package estimate

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// Margin is how far a number may be off in some groups.
type Margin struct {
	Groups      int
	Known       int     // groups that have one, from
	Least, Most float64 // the least to the widest
	without     int     // groups that have none, and are not NULL
}

// add adds a group. Its margin is not known, where it is NULL or has no end.
func (m *Margin) add(by float64, ok, null bool) {
	switch {
	case ok && !math.IsInf(by, 0) && !math.IsNaN(by):
		m.join(Margin{Known: 1, Least: by, Most: by})
	case !null:
		m.without++
	}
}

// join adds other groups.
func (m *Margin) join(o Margin) {
	switch {
	case m.Known == 0:
		m.Least, m.Most = o.Least, o.Most
	case o.Known > 0:
		m.Least, m.Most = math.Min(m.Least, o.Least), math.Max(m.Most, o.Most)
	}
	m.Groups, m.Known, m.without = m.Groups+o.Groups, m.Known+o.Known, m.without+o.without
}

// equal says that two have the same margins.
func (m Margin) equal(o Margin) bool {
	return m.Known > 0 == (o.Known > 0) && m.Least == o.Least && m.Most == o.Most
}

// unknown is that of what nobody knows.
func (a *Answer) unknown() (m Margin) {
	for _, r := range a.Blocks {
		m.Groups = max(m.Groups, r.Keys.Len())
	}
	m.without = m.Groups
	return m
}

// Figure is how far a result column, or an aggregate that is in one, may be off.
type Figure struct {
	Margin
	Label   string
	Type    uint32 // of an aggregate
	Of      *rewrite.Formula
	written string // the other label, of an aggregate
	output  bool   // it is a result column
}

// leaf is an aggregate of a block, or a window over its groups.
type leaf struct {
	op            string
	block, column int
}

func leafOf(f *rewrite.Formula) leaf { return leaf{f.Op, f.Block, f.Column} }

// Figures has one for each result column that released values are in, and for each other aggregate, and each other
// window that is a column.
func (a *Answer) Figures() (list []Figure) {
	shown := map[leaf]bool{} // what is a result column
	for _, o := range a.Plan.Outputs {
		for _, x := range o.Of {
			shown[leafOf(x.Same())] = true
		}
	}
	for _, o := range a.Plan.Outputs {
		if f := a.ofOutput(o, shown); f.Of != nil {
			list = append(list, f)
		}
	}
	nameUniquely(list)
	var others []Figure
	add := func(of *rewrite.Formula, output string) {
		if shown[leafOf(of)] {
			return
		}
		f := a.figure(of)
		if output != "" && !slices.ContainsFunc(list, func(o Figure) bool { return o.Label == output }) {
			f.Label = output
		}
		others = a.together(others, f)
	}
	for i, block := range a.Plan.Blocks {
		for j, column := range block.Columns {
			if len(column.Releases) > 0 { // else it is a constant
				add(&rewrite.Formula{Op: rewrite.FormulaAggregate, Block: i, Column: j}, column.Output)
			}
		}
		for j, w := range block.Windows {
			if w.Output != "" {
				add(&rewrite.Formula{Op: rewrite.FormulaWindow, Block: i, Column: j}, w.Output)
			}
		}
	}
	list = append(list, others...)
	numbered(list)
	return list
}

// ofOutput is the figure of a result column; Of is nil where there is nothing to say of it, or what there is is said of
// the aggregate that it rounds.
func (a *Answer) ofOutput(o rewrite.Output, shown map[leaf]bool) Figure {
	out := Figure{Label: o.Name, output: true}
	said := true
	for _, x := range o.Of {
		x = x.Same()
		rounds := x.Rounded()
		if !x.Derived() || rounds != nil && len(a.Column(rounds).Releases) == 0 { // a constant
			continue
		}
		if rounds != nil {
			x = rounds
		}
		f := a.figure(x)
		said = said && rounds != nil && !shown[leafOf(rounds)] && f.Known > 0 && f.without == 0
		if out.join(f.Margin); out.Of == nil {
			out.Of, out.Type, out.written = f.Of, f.Type, f.written
		}
	}
	if said {
		out.Of = nil
	}
	return out
}

// figure is that of an aggregate, of a window, or of what is computed.
func (a *Answer) figure(x *rewrite.Formula) Figure {
	switch x.Op {
	case rewrite.FormulaWindow:
		return Figure{Margin: a.window(x), Type: a.Column(x).Type, Of: x}
	case rewrite.FormulaAggregate:
		c := a.Column(x)
		return Figure{Margin: a.aggregate(x.Block, *c), Label: c.Name, written: c.Name, Type: c.Type, Of: x}
	}
	return Figure{Margin: a.computed(x), Of: x}
}

// aggregate is the margin of one over the groups that were released. Percentiles have one where both ends are asked
// for: nothing better than their range is public of others.
func (a *Answer) aggregate(block int, c rewrite.Column) Margin {
	out := Margin{Groups: a.Blocks[block].Keys.Len()}
	if c.Choice || a.isQuantile(block, c) && (c.Low == 0 || c.High == 0 || c.Chooses) {
		out.without = out.Groups
		return out
	}
	for g := range out.Groups {
		x := a.Aggregate(block, c, a.Blocks[block], g)
		out.add(x.Margin(), x.Known, x.Null)
	}
	return out
}

// Column is the first aggregate that a formula is of, or adds up; nil: it is of none.
func (s *Statement) Column(of *rewrite.Formula) *rewrite.Column {
	switch leaf := of.Leaf(); {
	case leaf == nil:
		return nil
	case leaf.Op == rewrite.FormulaWindow:
		return &s.Plan.Blocks[leaf.Block].Windows[leaf.Column].Column
	default:
		return &s.Plan.Blocks[leaf.Block].Columns[leaf.Column]
	}
}

// nameUniquely gives result columns of one name, each of which is another aggregate, that of what they are («avg» is
// what PostgreSQL calls every average).
func nameUniquely(list []Figure) {
	var apart []int
	for i, f := range list {
		same := func(o Figure) bool { return o.Label == f.Label }
		computed := func(o Figure) bool { return same(o) && o.written == "" }
		another := func(o Figure) bool { return same(o) && o.written != f.written }
		if slices.ContainsFunc(list, another) && !slices.ContainsFunc(list, computed) {
			apart = append(apart, i)
		}
	}
	for _, i := range apart {
		list[i].Label = list[i].written
	}
}

// numbered numbers figures of one label that say different things.
func numbered(list []Figure) {
	for i, f := range list {
		same := func(o Figure) bool { return o.Label == f.Label }
		if !slices.ContainsFunc(list[i+1:], func(o Figure) bool { return same(o) && !o.equal(f.Margin) }) {
			continue
		}
		for j, n := i, 1; j < len(list); j++ {
			if same(list[j]) {
				list[j].Label = fmt.Sprintf("%s (%d)", f.Label, n)
				n++
			}
		}
	}
}

// together adds the figure of an aggregate to a list, or to that of the same aggregate in another grouping set, or to
// one that says the same.
func (a *Answer) together(list []Figure, f Figure) []Figure {
	at := slices.IndexFunc(list, func(o Figure) bool {
		return o.Label == f.Label && (o.equal(f.Margin) || a.oneColumn(o.Of.Block, f.Of.Block))
	})
	if at < 0 {
		return append(list, f)
	}
	list[at].join(f.Margin)
	return list
}

// oneColumn says that the rows of a result column are groups of two blocks.
func (s *Statement) oneColumn(a, b int) bool {
	return slices.ContainsFunc(s.Plan.Outputs, func(o rewrite.Output) bool {
		reads := func(block int) bool {
			return slices.ContainsFunc(o.Of, func(f *rewrite.Formula) bool {
				return f.Has(func(x *rewrite.Formula) bool { return x.Op == rewrite.FormulaAggregate && x.Block == block })
			})
		}
		return len(o.Of) > 1 && reads(a) && reads(b)
	})
}

// Lines has one for each figure that has a margin: «name: ±6», or «name: ±6 to ±40» where groups differ.
func Lines(list []Figure) (out []string) {
	for _, f := range list {
		if f.Known == 0 {
			continue
		}
		text := f.Label + ": ±" + Amount(f.Type, f.Least)
		if most := Amount(f.Type, f.Most); most != Amount(f.Type, f.Least) {
			text += " to ±" + most
		}
		out = append(out, text)
	}
	return out
}

// WithoutMargin names the result columns that have no margin, and says what gives one; empty: all have one. Numbers of
// places have none where the answer says how many are certain.
func (a *Answer) WithoutMargin(list []Figure, placed Places) string {
	var names []string
	quantile := false
	for _, f := range list {
		ranks := f.Of.Op == rewrite.FormulaRank && placed.shown > 0 && placed.ranked
		said := ranks && reflect.DeepEqual(f.Of.Args[0], placed.by)
		switch {
		case !f.output || f.Groups == 0 || said:
			continue
		case f.Known == 0:
			names = append(names, f.Label)
		case f.without > 0:
			names = append(names, fmt.Sprintf("%s in %d of %d groups", f.Label, f.without, f.Groups))
		}
		if x := f.Of.Rounded(); x != nil && f.Known == 0 {
			c := a.Column(x)
			single := len(c.Releases) == 1 && c.Low+c.High == 0 && !c.Chooses // else its ends are those of its range
			quantile = quantile || single && a.isQuantile(x.Block, *c)
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
