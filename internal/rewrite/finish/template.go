package finish

import (
	"fmt"
	"slices"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/bind"
	"github.com/dpproxy/dpproxy/internal/rewrite/catalog"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// stubs replaces the placeholders in the tree by subselects without a table, which pass the check of names.
func (b *finisher) stubs(tree *pg_query.SelectStmt) {
	sqltree.Replace(sqltree.SelectNode(tree), func(n *pg_query.Node) (*pg_query.Node, bool) {
		v := n.GetRangeVar()
		if v == nil || !strings.HasPrefix(v.Relname, blockPrefix) {
			return n, true
		}
		stub := sqltree.Subselect(sqltree.NewSelect(sqltree.Target(v.Relname, sqltree.Integer(1))), "")
		stub.GetRangeSubselect().Alias = v.Alias
		return stub, false
	})
}

// Template is a statement that was cut at its release blocks: the same for all values of its parameters.
type Template struct {
	levels    []*level // by placeholder
	kinds     bind.Kinds
	keyed     bool // a lookup query (docs/privacy.md P28a): the values of its keys have to be known
	overShown bool // it aggregates the groups that are shown
	outputs   []column
	order     *Order
	limit     int // the parameter that has to be 1, for the statement asks whether there is a row; 0: none

	text         []string // of the finish query, around the reads of released values
	placeholders []int    // which placeholder each read is of
	on           schema.Route
	clock        bool  // it reads the clock
	args         []Arg // the client's parameters that it uses, numbered without gaps
}

// OverShown reports whether it aggregates the groups that are shown.
func (t *Template) OverShown() bool { return t.overShown }

// Answer says what the result columns, and the order, are computed of. place gives the place in the plan of an
// aggregate of a block, or of a window over its groups.
func (t *Template) Answer(p *Planned, place func(block, column int, window bool) (int, int)) (
	list []Output, order *Order,
) {
	placed := func(f *Formula) (out []*Formula) {
		for set := range p.sets(f) {
			out = append(out, f.replaced(func(x Formula) *Formula {
				if x.Row = 0; x.Op != FormulaAggregate && x.Op != FormulaWindow {
					return &x
				}
				blocks := p.reads[x.Block].blocks
				if x.Block, x.Column = place(blocks[min(set, len(blocks)-1)], x.Column, x.Op == FormulaWindow); x.Column < 0 {
					return public
				}
				return &x
			}))
		}
		return out
	}
	for _, c := range t.outputs {
		o := Output{Name: c.name}
		for _, f := range c.of.alternatives() {
			o.Of = append(o.Of, placed(f)...)
		}
		list = append(list, o)
	}
	if t.order != nil {
		o := *t.order
		if of := placed(o.By); len(of) == 1 && o.By.Op != formulaEither {
			o.By = of[0]
		} else {
			o.By = other
		}
		order = &o
	}
	return list, order
}

// sets is how many grouping sets what a formula reads has.
func (p *Planned) sets(f *Formula) int {
	most := 1
	f.Has(func(x *Formula) bool {
		if x.Op == FormulaAggregate {
			most = max(most, len(p.reads[x.Block].blocks))
		}
		return false
	})
	return most
}

// Print prints the client's statement over the values that are released of these blocks. index gives the number under
// which each block is measured.
func (t *Template) Print(p *Planned, index []int) Query {
	f := &printer{planned: p, args: slices.Clone(t.args)}
	var text strings.Builder
	for i, read := range t.placeholders {
		text.WriteString(t.text[i])
		text.WriteString("(" + f.union(p.reads[read], index) + ")")
	}
	text.WriteString(t.text[len(t.placeholders)])
	return Query{SQL: text.String(), On: t.on, Clock: t.clock, Args: f.args}
}

// template deparses the finish tree and checks every name in it.
func (b *finisher) template(in catalog.Input, tree *pg_query.SelectStmt) (*Template, error) {
	t := &Template{levels: b.levels, kinds: b.Kinds(), overShown: b.overShown}
	b.renumber(t, tree)
	b.stubs(tree)
	t.clock = sqltree.ReadsClock(sqltree.SelectNode(tree))
	text, err := sqltree.Deparse(tree)
	if err != nil {
		return nil, err
	}
	again, err := pg_query.Parse(text)
	if err != nil {
		return nil, err
	}
	in.Parameters = len(t.args)
	r, err := catalog.Check(again.Stmts[0].Stmt, text, in)
	if err != nil {
		return nil, sqltree.WithoutPosition(err)
	}
	if len(r.Supplies) > 0 || len(r.Assignments) > 0 {
		return nil,
			refusal.New(refusal.OwnTables, "settings and dpproxy's own tables cannot be used together with private tables",
				pgerr.Hint("Ask for them in a statement of their own."))
	}
	t.on = schema.RouteShadow
	if r.Route == catalog.Public {
		t.on = schema.RoutePublic
	}
	return t, t.split(r.SQL, len(b.reads))
}

// renumber numbers the parameters that are left above the blocks.
func (b *finisher) renumber(t *Template, tree *pg_query.SelectStmt) {
	numbers := map[int32]int32{}
	sqltree.Visit(sqltree.SelectNode(tree), func(n *pg_query.Node) bool {
		r := n.GetParamRef()
		if r == nil {
			return true
		}
		if numbers[r.Number] == 0 {
			numbers[r.Number] = int32(len(t.args) + 1)
			t.args = append(t.args, Arg{Type: b.Desc.ParameterTypes[r.Number-1], Parameter: int(r.Number), Key: -1, Release: -1})
		}
		r.Number = numbers[r.Number]
		return true
	})
}

// split takes the stubs out of a text, by PostgreSQL's own scanner: each is the tokens ( SELECT 1 AS name ).
func (t *Template) split(text string, stubs int) error {
	scan, err := pg_query.Scan(text)
	if err != nil {
		return err
	}
	names := map[string]int{}
	for i := range stubs {
		names[placeholder(i)] = i
	}
	from := 0
	for i, token := range scan.Tokens {
		read, ok := names[text[token.Start:token.End]]
		if token.Token != pg_query.Token_IDENT || !ok {
			continue
		}
		if i < 4 || i+1 == len(scan.Tokens) || scan.Tokens[i-4].Token != pg_query.Token_ASCII_40 ||
			scan.Tokens[i+1].Token != pg_query.Token_ASCII_41 {
			return fmt.Errorf("the finish query names %s outside its place", placeholder(read))
		}
		t.text, t.placeholders = append(t.text, text[from:scan.Tokens[i-4].Start]), append(t.placeholders, read)
		from = int(scan.Tokens[i+1].End)
	}
	if t.text = append(t.text, text[from:]); len(t.placeholders) != stubs {
		return fmt.Errorf("the finish query reads %d blocks of %d", len(t.placeholders), stubs)
	}
	return nil
}
