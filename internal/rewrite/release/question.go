package release

import (
	"fmt"
	"slices"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
)

// Question is what a block asks, taken apart to tell whether the groups of another block determine its own
// (docs/privacy.md P23b). Equal texts mean the same, in whatever statements they are.
type Question struct {
	Rows       string              // FROM, the unit, and the settings that have a say
	Conditions []Condition         // that all of its rows fulfil
	Left       map[string][]string // values that these leave of columns, where they are known
	Keys       []Part
	Releases   []Integer
}

// Condition is one of the rows of a block.
type Condition struct {
	Text   string
	Column string // whose value decides it; empty: that of none does
	Holds  string // over the value as a text, u.v
}

// Part is a key of a block.
type Part struct {
	Text   string
	Inside string // how values are told apart, and conditions without which a row is in no group
	Column bool   // it is a column, unchanged: both follow from that
	Whole  bool   // every row is in a group
}

// Integer is what a release is of the rows of a group.
type Integer struct {
	Text string
	Adds bool // of several groups together it is the sum of what it is in each
}

// questionSteps is what it takes to print one of the texts of a question.
const questionSteps = 10

// mostMadeOf bounds the groups of a block that others are made of, and so of those.
const mostMadeOf = 10_000

// Question takes a block apart; nil where its groups are too many, or where they, or the rows that a unit counts with
// in each, follow from more than its rows.
func (k *Block) Question(b *relation.Base) *Question {
	src := k.Source
	if k.Selected || k.groups > mostMadeOf || k.PicksGroups || src.Empty || src.Preserved != nil || src.From == nil {
		return nil
	}
	columns, holds := map[string]*expr.Column{}, map[string]string{} // by condition
	for _, c := range expr.Split(src.Conditions) {
		key := query.Key(c.SQL())
		columns[key], holds[key] = expr.Decide(c)
	}
	var known map[*expr.Column]expr.Narrowing
	if len(src.Conditions) > 0 {
		known = expr.Narrow(expr.And(src.Conditions...))
	}
	list := []query.Scalar{src.Unit}
	for _, x := range src.Where {
		var column query.Scalar
		if c := columns[query.Key(x)]; c != nil {
			column = c.Ref
		}
		list = append(list, x, column)
	}
	for _, g := range k.Keys {
		list = append(list, g.SQL(), query.All(query.Sorted(g.inside)...))
	}
	for i := range k.Releases {
		over, _ := k.reading(i)
		list = append(list, over...)
	}
	b.Take(questionSteps * len(list))
	from, texts := query.Apart(src.From, list)
	next := func() (text string) {
		text, texts = texts[0], texts[1:]
		return text
	}
	settings := b.Settings
	settings.Intervals, settings.User, settings.Database = false, "", ""
	q := &Question{Rows: fmt.Sprintf("%q %q %q", from, next(), fmt.Sprint(settings)), Left: map[string][]string{}}
	for _, x := range src.Where {
		key := query.Key(x)
		c := Condition{next(), next(), holds[key]}
		q.Conditions = append(q.Conditions, c)
		if of := columns[key]; of != nil {
			q.Left[c.Column] = expr.Left(of, known[of])
		}
	}
	for i, g := range k.Keys {
		c := relation.SourceOf(g.Expr)
		p := Part{Text: next(), Inside: g.Equality() + next(), Whole: len(g.inside) == 0 && k.wholeKey(i)}
		p.Column = c != nil && query.Equal(g.SQL(), c.Value.Ref) && g.Collation() == c.Value.Collation
		q.Keys = append(q.Keys, p)
	}
	for i := range k.Releases {
		r := k.Releases[i]
		_, how := k.reading(i)
		text := fmt.Sprintf("%q %q %q %s %v", next(), next(), next(), how,
			[]any{r.Kind, r.Range, r.PerRow, r.Grid, r.Fraction, r.End, k.doubledCenter[i]})
		q.Releases = append(q.Releases, Integer{text, r.Kind == mechanism.Scalar && k.addsUp(i)})
	}
	return q
}

// wholeKey says that the values of a key are listed with all others that a row may have.
func (k *Block) wholeKey(key int) bool {
	for _, d := range k.Domains {
		for _, at := range d.At {
			if at == key {
				return d.Whole
			}
		}
	}
	return false
}

// reading prints what a release is of the rows of a group: an argument, a condition, what each value counts once, and
// how the rows of a unit count, beside how many.
func (k *Block) reading(release int) (over []query.Scalar, how string) {
	if m := k.measurement(release); m != nil {
		return []query.Scalar{m.Integer(), m.Where, m.Distinct}, fmt.Sprint(m.Once, m.given)
	}
	at := slices.IndexFunc(k.Histograms, func(h Histogram) bool { return slices.Contains(h.Releases, release) })
	return []query.Scalar{k.Histograms[at].SQL, k.Histograms[at].Where, nil}, k.Histograms[at].Extreme
}
