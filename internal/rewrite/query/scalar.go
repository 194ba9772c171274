package query

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// Scalar is an expression: one value per row, per group or per query.
type Scalar interface{ write(w *writer) }

// Raw is text that holds no name of the query: keywords, numbers, quoted constants, names of types.
type Raw string

func (r Raw) write(w *writer) { w.text(string(r)) }

// Integer is a whole number.
func Integer(n int64) Scalar { return Raw(strconv.FormatInt(n, 10)) }

// Name is a column of the only FROM item there is.
type Name string

func (n Name) write(w *writer) { w.text(string(n)) }

// Column is a column of a FROM item. Name is quoted where it has to be.
type Column struct {
	Of   *Alias
	Name string
}

func (c Column) write(w *writer) {
	if w.read != nil {
		w.read[c] = true
	}
	w.alias(c.Of)
	w.text("." + c.Name)
}

// Form is a construct of the grammar, an operator or a call: Text is what stands before, between and behind its
// operands.
type Form struct {
	Text []string // one more than operands
	Of   []Scalar
}

func (f Form) write(w *writer) {
	for i, x := range f.Of {
		w.text(f.Text[i])
		x.write(w)
	}
	w.text(f.Text[len(f.Of)])
}

// F makes a Form: every {} of the template is the next operand, a Scalar, a string that is printed as it is, or a whole
// number.
func F(template string, operands ...any) Form {
	text := strings.Split(template, "{}")
	if len(text) != len(operands)+1 {
		panic(fmt.Sprintf("query: template %q has %d operands", template, len(operands)))
	}
	of := make([]Scalar, len(operands))
	for i, x := range operands {
		of[i] = operand(x)
	}
	return Form{Text: text, Of: of}
}

func operand(x any) Scalar {
	switch v := x.(type) {
	case Scalar:
		return v
	case string:
		return Raw(v)
	case int64:
		return Integer(v)
	case int:
		return Integer(int64(v))
	}
	panic(fmt.Sprintf("query: %T is no operand", x))
}

// List is several expressions with the same text between them, as in a AND b AND c.
type List struct {
	Between string
	Of      []Scalar
}

func (l List) write(w *writer) {
	for i, x := range l.Of {
		if i > 0 {
			w.text(l.Between)
		}
		x.write(w)
	}
}

// All makes the conjunction of conditions; nil if there are none.
func All(conditions ...Scalar) Scalar {
	switch len(conditions) {
	case 0:
		return nil
	case 1:
		return conditions[0]
	}
	return List{" AND ", conditions}
}

// Clamp keeps a number within bounds; of integers that are never NULL, and of what NULL may not reach. As a ladder it
// is a CASE, which keeps NULL and which postgres_fdw pushes down. A nil bound is none.
type Clamp struct {
	X, Lo, Hi Scalar
	Ladder    bool
	Within    Scalar // of a ladder: what stands for X between the bounds; nil: X itself
}

func (c Clamp) write(w *writer) {
	if c.Ladder {
		ladder{c}.write(w)
		return
	}
	x := c.X
	if c.Lo != nil {
		x = F("GREATEST({}, {})", x, c.Lo)
	}
	if c.Hi != nil {
		x = F("LEAST({}, {})", x, c.Hi)
	}
	x.write(w)
}

// ladder prints a Clamp as a CASE.
type ladder struct{ Clamp }

func (c ladder) write(w *writer) {
	w.text("(CASE")
	if c.Lo != nil {
		F(" WHEN {} OPERATOR(pg_catalog.<) {} THEN {}", c.X, c.Lo, c.Lo).write(w)
	}
	if c.Hi != nil {
		F(" WHEN {} OPERATOR(pg_catalog.>) {} THEN {}", c.X, c.Hi, c.Hi).write(w)
	}
	within := c.X
	if c.Within != nil {
		within = c.Within
	}
	F(" ELSE {} END)", within).write(w)
}

// Aggregate is a call of an aggregate over the rows where a condition holds; nil: over all.
type Aggregate struct {
	Call  Scalar
	Where Scalar
}

func (a Aggregate) write(w *writer) {
	a.Call.write(w)
	if a.Where != nil {
		F(" FILTER (WHERE {})", a.Where).write(w)
	}
}

// Over is a call of a window function, or of an aggregate, over a window.
type Over struct {
	Call      Scalar
	Partition []Scalar
	Order     []Scalar // with its options
	Frame     Scalar   // nil: the default
}

func (o Over) write(w *writer) {
	o.Call.write(w)
	w.text(" OVER (PARTITION BY ")
	List{", ", o.Partition}.write(w)
	if len(o.Order) > 0 {
		w.text(" ORDER BY ")
		List{", ", o.Order}.write(w)
	}
	if o.Frame != nil {
		w.text(" ")
		o.Frame.write(w)
	}
	w.text(")")
}

// Subquery is a scalar subquery.
type Subquery struct{ Query Query }

func (s Subquery) write(w *writer) { w.parenthesised(s.Query) }

// Exists says whether a query has a row.
type Exists struct{ Query Query }

func (e Exists) write(w *writer) {
	w.text("EXISTS ")
	w.parenthesised(e.Query)
}

// Compared compares a value, or a row, with the rows of a query: Op is an operator, Word ANY or ALL.
type Compared struct {
	Left     []Scalar
	Op, Word string
	Query    Query
}

func (c Compared) write(w *writer) {
	left := Scalar(List{", ", c.Left})
	if len(c.Left) > 1 {
		left = Row(c.Left)
	}
	F("({} OPERATOR(pg_catalog.{}) {} ", left, c.Op, c.Word).write(w)
	w.parenthesised(c.Query)
	w.text(")")
}

const rowBegins = "ROW("

// Row makes one value of several.
func Row(of []Scalar) Scalar { return F(rowBegins+"{})", List{", ", of}) }

// IsRow reports whether a scalar is one of Row.
func IsRow(x Scalar) bool {
	f, ok := x.(Form)
	return ok && f.Text[0] == rowBegins
}

// Parameter is a value that is sent apart from the text. Each Parameter is one $n, however often the query reads it.
type Parameter struct{ schema.Parameter }

func (p *Parameter) write(w *writer) { w.parameter(p) }
