package query

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltext"
)

// Alias names a FROM item. One with a Label is called that; the others are t1, t2… in the order in which a text first
// names them, so that equal queries have equal texts, whatever was planned before them.
type Alias struct {
	Label string
	ID    int // without a label: tells the aliases of one plan apart
}

// Column gives a column of the item by a name that needs no quotes.
func (a *Alias) Column(name string) Column { return Column{a, name} }

// Named makes the alias of a query level that has one item of that name.
func Named(label string) *Alias { return &Alias{Label: label} }

// Print writes a query, with its parameters in the order of their numbers.
func Print(q Query) schema.SQL {
	sql, _ := PrintReading(q)
	return sql
}

// PrintReading gives, beside what Print does, the columns that the text reads of tables. A table of which it reads none
// has an empty list.
func PrintReading(q Query) (schema.SQL, map[policy.Name][]string) {
	w := &writer{
		numbers: map[int]int{}, places: map[*Parameter]int{},
		tables: map[*Alias]policy.Name{}, read: map[Column]bool{},
	}
	q.writeQuery(w)
	reads := map[policy.Name][]string{}
	for _, name := range w.tables {
		reads[name] = nil
	}
	for c := range w.read {
		if name, ok := w.tables[c.Of]; ok {
			reads[name] = append(reads[name], sqltext.Name(c.Name))
		}
	}
	return schema.SQL{Text: w.out.String(), Parameters: w.parameters}, reads
}

// TextWith writes an expression by itself, for the shadow: its parameters are numbered behind n others.
func TextWith(x Scalar, n int) schema.SQL {
	w := &writer{numbers: map[int]int{}, places: map[*Parameter]int{}, before: n}
	x.write(w)
	return schema.SQL{Text: w.out.String(), Parameters: w.parameters}
}

// Text writes an expression by itself, its aliases numbered from 1. It is for the shadow: it has no parameters.
func Text(x Scalar) string {
	w := &writer{numbers: map[int]int{}}
	x.write(w)
	return w.out.String()
}

// Apart writes a FROM item, and expressions over its columns, each by itself: of equal items, equal texts are the same
// expression, whatever statements they are from. No expression is the empty text.
func Apart(from Source, over []Scalar) (item string, texts []string) {
	w := &writer{numbers: map[int]int{}}
	take := func() string {
		defer w.out.Reset()
		return w.out.String()
	}
	from.writeSource(w)
	item = take()
	for _, x := range over {
		if x != nil {
			x.write(w)
		}
		texts = append(texts, take())
	}
	return item, texts
}

// Key returns a text that is equal for expressions of one plan that are the same, and for no others. It orders
// conditions.
func Key(x Scalar) string {
	switch v := x.(type) {
	case nil:
		return ""
	case Raw:
		return string(v)
	}
	w := &writer{}
	x.write(w)
	return w.out.String()
}

// Sorted puts conditions into one order, whoever wrote them, each once.
func Sorted(conditions []Scalar) []Scalar {
	type keyed struct {
		key string
		x   Scalar
	}
	list := make([]keyed, len(conditions))
	for i, x := range conditions {
		list[i] = keyed{Key(x), x}
	}
	slices.SortStableFunc(list, func(a, b keyed) int { return strings.Compare(a.key, b.key) })
	list = slices.CompactFunc(list, func(a, b keyed) bool { return a.key == b.key })
	out := make([]Scalar, len(list))
	for i, k := range list {
		out[i] = k.x
	}
	return out
}

// Equal reports whether two expressions of one plan are the same.
func Equal(a, b Scalar) bool { return Key(a) == Key(b) }

// writer collects a text.
type writer struct {
	out        strings.Builder
	numbers    map[int]int // of aliases, by ID; nil: they keep their IDs, for Key
	places     map[*Parameter]int
	parameters []schema.Parameter
	before     int // parameters of the text around

	// What the text reads; nil: nobody asks.
	tables map[*Alias]policy.Name
	read   map[Column]bool
}

func (w *writer) text(s string) { w.out.WriteString(s) }

func (w *writer) alias(a *Alias) {
	if a.Label != "" {
		w.text(a.Label)
		return
	}
	if w.numbers == nil {
		fmt.Fprintf(&w.out, "t%06d", a.ID) // of one width, so that keys are ordered as IDs are
		return
	}
	if w.numbers[a.ID] == 0 {
		w.numbers[a.ID] = len(w.numbers) + 1
	}
	w.text("t" + strconv.Itoa(w.numbers[a.ID]))
}

func (w *writer) parameter(p *Parameter) {
	if w.places == nil { // Key, Text: the value itself
		if p.Given != nil {
			if w.numbers != nil {
				panic("query: the shadow is asked about a value that no stage has answered yet")
			}
			fmt.Fprintf(&w.out, "stage(%d, %d)", p.Given.Stage, p.Given.Column)
		} else if p.Value == nil {
			w.text("NULL")
		} else {
			w.text(sqltext.EscapedLiteral(string(*p.Value)))
		}
		return
	}
	n, known := w.places[p]
	if !known {
		w.parameters = append(w.parameters, p.Parameter)
		n = w.before + len(w.parameters)
		w.places[p] = n
	}
	w.text("$" + strconv.Itoa(n))
}

func (w *writer) parenthesised(q Query) {
	w.text("(")
	q.writeQuery(w)
	w.text(")")
}

// columns names the columns of a FROM item.
func (w *writer) columns(names []string) {
	if len(names) > 0 {
		w.text(" (" + strings.Join(names, ", ") + ")")
	}
}
