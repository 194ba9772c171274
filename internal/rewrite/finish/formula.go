package finish

import "slices"

// Output is a result column that is computed of released values.
type Output struct {
	Name string
	// Of is what it is computed of: several, where its rows are those of several queries or grouping sets.
	Of []*Formula
}

// Order says by what the statement sorts its rows first.
type Order struct {
	By         *Formula // of groups, each of which is a row; else FormulaOther
	Descending bool
	Ranked     bool // a window numbers the groups in that order: they may be shown in another
}

// Formula is what is computed of the released values of a group: a function of others by that name, or one of the
// following.
type Formula struct {
	Op            string
	Args          []*Formula
	Number        float64 // of FormulaNumber, and whether it is an integer
	Integer       bool
	Block, Column int // of FormulaAggregate and FormulaWindow: which of the block's it is

	Row  int // whose value it is: of the same group, where it is the same; 0: of the one group of all rows
	Size int // how many others it is of
}

// mostParts bounds the parts of a formula, each of which is computed for each group; mostQueries, of how many queries
// one may have rows.
const mostParts, mostQueries = 64, 1024

// What a formula may be besides + - * / of two others, round and trunc to so many digits, floor and ceil.
const (
	FormulaAggregate = "aggregate"
	FormulaWindow    = "window"
	FormulaNumber    = "number"
	FormulaNumeric   = "numeric" // what it is of, as a type with fractions
	FormulaWhole     = "whole"   // the nearest integer, as an integer
	FormulaRank      = "rank"    // the number of a group in an order
	FormulaPublic    = "public"  // nothing that was released is in it
	formulaEnd       = "end"     // the analyst's own word on how far another is off
	FormulaOther     = "other"   // how far it is off is unknown
	formulaEither    = "either"  // one or the other, in different rows
)

var public, other = &Formula{Op: FormulaPublic}, &Formula{Op: FormulaOther}

// Derived reports whether released values are in it.
func (f *Formula) Derived() bool {
	switch f.Op {
	case FormulaAggregate, FormulaWindow, FormulaRank, FormulaOther:
		return true
	}
	return slices.ContainsFunc(f.Args, (*Formula).Derived)
}

// Has reports whether a formula, or one that it is of, is so.
func (f *Formula) Has(is func(*Formula) bool) bool {
	return is(f) || slices.ContainsFunc(f.Args, func(x *Formula) bool { return x.Has(is) })
}

// Same is what a formula is of, where it is that.
func (f *Formula) Same() *Formula {
	for f.Op == FormulaNumeric {
		f = f.Args[0]
	}
	return f
}

// Rounded is the aggregate that a formula rounds, or is; nil: it computes.
func (f *Formula) Rounded() *Formula {
	for len(f.Args) > 0 {
		switch f.Op {
		case FormulaNumeric, FormulaWhole, "round", "trunc", "floor", "ceil":
			f = f.Args[0]
		default:
			return nil
		}
	}
	if f.Op != FormulaAggregate {
		return nil
	}
	return f
}

// Leaf is the first aggregate or window that is in a formula; nil: none is.
func (f *Formula) Leaf() (leaf *Formula) {
	f.Has(func(x *Formula) bool {
		if x.Op == FormulaAggregate || x.Op == FormulaWindow {
			leaf = x
		}
		return leaf != nil
	})
	return leaf
}

// of makes a formula of others.
func of(op string, args ...*Formula) *Formula {
	f := &Formula{Op: op, Args: args}
	for _, x := range args {
		f.Size += 1 + x.Size
	}
	return f
}

// apply is an operator of others.
func apply(op string, args ...*Formula) *Formula {
	f := of(op, args...)
	if !f.Derived() && slices.ContainsFunc(args, func(x *Formula) bool {
		return x.Op == FormulaPublic ||
			x.Op == formulaEnd
	}) {
		return public
	}
	unknown := func(x *Formula) bool {
		switch x.Op {
		case FormulaPublic, formulaEnd, FormulaOther, FormulaRank, FormulaWindow, formulaEither:
			return true
		}
		return false
	}
	if slices.ContainsFunc(args, unknown) || f.Size > mostParts || f.severalRows() {
		return other
	}
	return f
}

// severalRows reports whether a formula is of different groups.
func (f *Formula) severalRows() bool {
	row := 0
	return f.Has(func(x *Formula) bool {
		several := x.Row != 0 && row != 0 && x.Row != row
		row = max(row, x.Row)
		return several
	})
}

// mixed is a function of which nothing is known of others.
func mixed(args ...*Formula) *Formula {
	if slices.ContainsFunc(args, (*Formula).Derived) {
		return other
	}
	return public
}

// either is one formula or the other, in different rows.
func either(a, b *Formula) *Formula {
	if f := of(formulaEither, a, b); f.Size <= 2*mostQueries && f.Derived() {
		return f
	}
	return mixed(a, b)
}

// alternatives lists the formulas of which such a one is either.
func (f *Formula) alternatives() []*Formula {
	if f.Op == formulaEither {
		return append(f.Args[0].alternatives(), f.Args[1].alternatives()...)
	}
	return []*Formula{f}
}

// replaced copies a formula with others in place of its leaves.
func (f *Formula) replaced(by func(Formula) *Formula) *Formula {
	if len(f.Args) == 0 {
		return by(*f)
	}
	out := *f
	out.Args = nil
	for _, x := range f.Args {
		out.Args = append(out.Args, x.replaced(by))
	}
	return &out
}
