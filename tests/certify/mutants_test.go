package certify_test

import (
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/certify"
)

// mutant is a change of a text: do it, and undo it.
type mutant struct {
	kind     string
	do, undo func()
}

// nodes visits the nodes of a tree.
func nodes(v reflect.Value, visit func(n *pg.Node)) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return
		}
		if n, ok := v.Interface().(*pg.Node); ok {
			visit(n)
		}
		nodes(v.Elem(), visit)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				nodes(v.Field(i), visit)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			nodes(v.Index(i), visit)
		}
	}
}

// set is a mutant that assigns.
func set[T any](kind string, at *T, to T) mutant {
	old := *at
	return mutant{kind, func() { *at = to }, func() { *at = old }}
}

// without is a list without one element.
func without(list []*pg.Node, i int) []*pg.Node {
	return append(append([]*pg.Node{}, list[:i]...), list[i+1:]...)
}

var neighbours = map[string][]string{
	"sum": {"count", "max"}, "count": {"sum", "max"}, "min": {"max", "sum"}, "max": {"min", "sum"}, "div": {"mod"},
	"mod": {"div"}, "abs": {"sign"},
	"sign": {"abs"}, "row_number": {"rank"}, "rank": {"row_number"}, "<": {">", "<="}, "<=": {"<", ">="}, ">": {"<", ">="},
	">=": {">", "<="},
	"=":  {"<>", "<="}, "<>": {"="}, "+": {"-", "*"}, "-": {"+"}, "*": {"+", "/"}, "/": {"*"}, "&": {"|"},
	"int4": {"int8", "int2"}, "int8": {"int4", "numeric"}, "numeric": {"float8", "int8"}, "float8": {"numeric", "int4"},
	"text": {"int8"},
}

// mutants are the changes of one node.
func mutants(n *pg.Node, columns map[string][]string) (all []mutant) {
	replace := func(kind string, to *pg.Node) {
		if to != nil && to.Node != nil {
			all = append(all, set(kind, &n.Node, to.Node))
		}
	}
	swap := func(kind string, names []*pg.Node) {
		if len(names) == 0 {
			return
		}
		at := names[len(names)-1].GetString_()
		for _, o := range neighbours[at.GetSval()] {
			all = append(all, set(kind, &at.Sval, o))
		}
	}
	switch e := n.Node.(type) {
	case *pg.Node_AConst:
		switch c := e.AConst.Val.(type) {
		case *pg.A_Const_Ival:
			k := c.Ival.Ival
			for _, v := range []int32{k + 1, k - 1, k * 2, 0, -k, 1000000} {
				if v != k {
					all = append(all, set("constant", &c.Ival.Ival, v))
				}
			}
		case *pg.A_Const_Fval:
			for _, v := range []string{"1", "99999999999999999999", "-" + strings.TrimPrefix(c.Fval.Fval, "-")} {
				all = append(all, set("constant", &c.Fval.Fval, v))
			}
		case *pg.A_Const_Sval:
			if r, ok := new(big.Rat).SetString(c.Sval.Sval); ok {
				for _, f := range []int64{2, 0, -1, 1000000} {
					f, _ := new(big.Rat).Mul(r, big.NewRat(f, 1)).Float64()
					all = append(all, set("constant", &c.Sval.Sval, fmt.Sprint(f)))
				}
			}
		}
	case *pg.Node_ColumnRef:
		if f := e.ColumnRef.Fields; len(f) == 2 {
			at := f[1].GetString_()
			for _, o := range columns[f[0].GetString_().GetSval()] {
				if o != at.GetSval() {
					all = append(all, set("column", &at.Sval, o))
				}
			}
		}
	case *pg.Node_BoolExpr:
		b := e.BoolExpr
		if b.Boolop == pg.BoolExprType_NOT_EXPR {
			replace("NOT dropped", b.Args[0])
			break
		}
		for i := range b.Args {
			if len(b.Args) > 2 {
				all = append(all, set(b.Boolop.String()+" part dropped", &b.Args, without(b.Args, i)))
			} else {
				replace(b.Boolop.String()+" part dropped", b.Args[1-i])
			}
		}
		all = append(all, set("AND for OR", &b.Boolop, pg.BoolExprType_AND_EXPR+pg.BoolExprType_OR_EXPR-b.Boolop))
	case *pg.Node_AExpr:
		swap("operator", e.AExpr.Name)
		replace("operand alone", e.AExpr.Lexpr)
		replace("operand alone", e.AExpr.Rexpr)
		all = append(all, mutant{
			"operands swapped",
			func() { e.AExpr.Lexpr, e.AExpr.Rexpr = e.AExpr.Rexpr, e.AExpr.Lexpr },
			func() { e.AExpr.Lexpr, e.AExpr.Rexpr = e.AExpr.Rexpr, e.AExpr.Lexpr },
		})
	case *pg.Node_NullTest:
		all = append(all, set("null test", &e.NullTest.Nulltesttype, pg.NullTestType_IS_NULL+pg.NullTestType_IS_NOT_NULL-
			e.NullTest.Nulltesttype))
	case *pg.Node_MinMaxExpr:
		m := e.MinMaxExpr
		all = append(all, set("LEAST for GREATEST", &m.Op, pg.MinMaxOp_IS_GREATEST+pg.MinMaxOp_IS_LEAST-m.Op))
		replace("clamp dropped", m.Args[0])
		replace("clamp alone", m.Args[1])
	case *pg.Node_CoalesceExpr:
		replace("COALESCE dropped", e.CoalesceExpr.Args[0])
	case *pg.Node_CaseExpr:
		c := e.CaseExpr
		replace("CASE dropped", c.Defresult)
		for i, w := range c.Args {
			when := w.GetCaseWhen()
			replace("CASE dropped", when.Result)
			if len(c.Args) > 1 {
				all = append(all, set("WHEN dropped", &c.Args, without(c.Args, i)))
			}
			if c.Defresult != nil {
				all = append(all, mutant{
					"branches swapped",
					func() { when.Result, c.Defresult = c.Defresult, when.Result },
					func() { when.Result, c.Defresult = c.Defresult, when.Result },
				})
			}
		}
		if c.Defresult != nil {
			all = append(all, set("ELSE dropped", &c.Defresult, nil))
		}
	case *pg.Node_TypeCast:
		replace("cast dropped", e.TypeCast.Arg)
		swap("cast", e.TypeCast.TypeName.Names)
	case *pg.Node_CollateClause:
		replace("collation dropped", e.CollateClause.Arg)
	case *pg.Node_FuncCall:
		f := e.FuncCall
		swap("function", f.Funcname)
		if f.AggFilter != nil {
			all = append(all, set("FILTER dropped", &f.AggFilter, nil))
		}
		if !f.AggStar && len(f.Args) == 1 && f.Over == nil {
			all = append(all, set("DISTINCT in an aggregate", &f.AggDistinct, !f.AggDistinct))
		}
		if w := f.Over; w != nil {
			for i := range w.PartitionClause {
				all = append(all, set("PARTITION BY dropped", &w.PartitionClause, without(w.PartitionClause, i)))
			}
			for i := range w.OrderClause {
				all = append(all, set("window order dropped", &w.OrderClause, without(w.OrderClause, i)))
			}
			if w.FrameOptions&4 != 0 {
				all = append(all, set("frame", &w.FrameOptions, 1058))
			}
		}
		for _, a := range f.Args {
			replace("argument alone", a)
		}
	case *pg.Node_JoinExpr:
		for _, k := range []pg.JoinType{
			pg.JoinType_JOIN_INNER, pg.JoinType_JOIN_LEFT, pg.JoinType_JOIN_FULL,
			pg.JoinType_JOIN_RIGHT,
		} {
			if k != e.JoinExpr.Jointype && e.JoinExpr.Quals != nil {
				all = append(all, set("join kind", &e.JoinExpr.Jointype, k))
			}
		}
		if e.JoinExpr.Jointype == pg.JoinType_JOIN_INNER && e.JoinExpr.Quals != nil {
			all = append(all, set("ON dropped", &e.JoinExpr.Quals, nil))
		}
		replace("join side alone", e.JoinExpr.Larg)
	case *pg.Node_RangeVar:
		all = append(all, set("ONLY dropped", &e.RangeVar.Inh, true))
		for _, o := range []string{"patients", "visits", "wards", "staff"} {
			if o != e.RangeVar.Relname {
				all = append(all, set("table", &e.RangeVar.Relname, o))
			}
		}
	case *pg.Node_SubLink:
		if e.SubLink.SubLinkType == pg.SubLinkType_ANY_SUBLINK {
			all = append(all, set("ALL for ANY", &e.SubLink.SubLinkType, pg.SubLinkType_ALL_SUBLINK))
		}
	}
	return all
}

// clauses are the changes of one SELECT.
func clauses(s *pg.SelectStmt) (all []mutant) {
	if s.WhereClause != nil {
		all = append(all, set("WHERE dropped", &s.WhereClause, nil))
	}
	for i := range s.GroupClause {
		if len(s.GroupClause) > 0 {
			all = append(all, set("GROUP BY part dropped", &s.GroupClause, without(s.GroupClause, i)))
		}
	}
	if len(s.DistinctClause) > 0 {
		all = append(all, set("DISTINCT dropped", &s.DistinctClause, nil))
	} else if s.Op == pg.SetOperation_SETOP_NONE && len(s.ValuesLists) == 0 {
		all = append(all, set("DISTINCT", &s.DistinctClause, []*pg.Node{{}}))
	}
	for i := range s.SortClause {
		all = append(all, set("ORDER BY part dropped", &s.SortClause, without(s.SortClause, i)))
	}
	if s.LimitCount != nil {
		all = append(all, set("LIMIT dropped", &s.LimitCount, nil))
	}
	if s.LimitOffset != nil {
		all = append(all, set("OFFSET dropped", &s.LimitOffset, nil))
	}
	if s.Op != pg.SetOperation_SETOP_NONE {
		all = append(all, set("ALL", &s.All, !s.All))
		for _, o := range []pg.SetOperation{
			pg.SetOperation_SETOP_UNION, pg.SetOperation_SETOP_INTERSECT,
			pg.SetOperation_SETOP_EXCEPT,
		} {
			if o != s.Op {
				all = append(all, set("set operation", &s.Op, o))
			}
		}
	}
	return all
}

// selects visits the SELECTs of a tree.
func selects(v reflect.Value, visit func(s *pg.SelectStmt)) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return
		}
		if s, ok := v.Interface().(*pg.SelectStmt); ok {
			visit(s)
		}
		selects(v.Elem(), visit)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				selects(v.Field(i), visit)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			selects(v.Index(i), visit)
		}
	}
}

// asClaims claims what was derived, and no more.
func asClaims(c certify.Certified, m measured) []certify.Claim {
	claims := make([]certify.Claim, len(c.Outputs))
	for i, o := range c.Outputs {
		claims[i] = certify.Claim{Kind: o.Kind, Influence: o.Influence}
	}
	selected := false
	for i := range claims {
		switch {
		case claims[i].Kind == certify.Private && !m.selected:
			claims[i].Kind = certify.Bin
		case claims[i].Kind == certify.Integer && m.selected && !selected:
			claims[i].Kind, selected = certify.Selection, true
		}
	}
	for i := range claims {
		if m.histogram {
			claims[i].Delta = claims[i].Place
		}
	}
	return claims
}

// everyMutant changes certified texts, at one place and at two, and gives each with the bounds of the text that it
// comes from.
func everyMutant(t *testing.T, visit func(m measured, kind, original, text string, claims []certify.Claim)) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, m := range readCorpus(t) {
		if testing.Short() && len(m.sql) > 1500 {
			continue
		}
		c, err := certify.Check(clinic, m.sql, m.parameters, nil)
		if err != nil {
			continue
		}
		claims := asClaims(c, m)
		tree, err := pg.Parse(m.sql)
		if err != nil {
			t.Fatal(err)
		}
		original, err := pg.Deparse(tree)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := certify.Check(clinic, original, m.parameters, claims); err != nil {
			t.Fatalf("%s: %v", original, err)
		}
		all := mutantsOf(tree)
		for _, u := range all {
			v := all[random.IntN(len(all))]
			for _, pair := range []bool{false, true} {
				kind := u.kind
				u.do()
				if pair {
					kind = twoChanges
					v.do()
				}
				text, err := pg.Deparse(tree)
				if pair {
					v.undo()
				}
				u.undo()
				if err == nil && text != original {
					visit(m, kind, original, text, claims)
				}
			}
		}
	}
}

const twoChanges = "two changes at once"

// mutantsOf are the changes of a text.
func mutantsOf(tree *pg.ParseResult) (all []mutant) {
	columns := map[string][]string{}
	nodes(reflect.ValueOf(tree.Stmts), func(n *pg.Node) {
		if f := n.GetColumnRef().GetFields(); len(f) == 2 {
			table, column := f[0].GetString_().GetSval(), f[1].GetString_().GetSval()
			if !slices.Contains(columns[table], column) {
				columns[table] = append(columns[table], column)
			}
		}
	})
	nodes(reflect.ValueOf(tree.Stmts), func(n *pg.Node) { all = append(all, mutants(n, columns)...) })
	selects(reflect.ValueOf(tree.Stmts), func(s *pg.SelectStmt) { all = append(all, clauses(s)...) })
	return all
}

// TestMutants changes certified texts and asks whether they still pass with the bounds of the text that they come from,
// counted by kind of change in a golden file. TestMutantNeighbours runs those that pass; go test -run TestMutants -v
// prints where they differ.
func TestMutants(t *testing.T) {
	tried, passed := map[string]int{}, map[string]int{}
	everyMutant(t, func(m measured, kind, original, text string, claims []certify.Claim) {
		tried[kind]++
		if _, err := certify.Check(clinic, text, m.parameters, claims); err == nil {
			if passed[kind]++; kind != twoChanges && testing.Verbose() {
				t.Logf("%s: %s", kind, difference(original, text))
			}
		}
	})
	var out strings.Builder
	sumTried, sumPassed := 0, 0
	for _, k := range slices.Sorted(maps.Keys(tried)) {
		fmt.Fprintf(&out, "%s: %d of %d pass\n", k, passed[k], tried[k])
		sumTried, sumPassed = sumTried+tried[k], sumPassed+passed[k]
	}
	fmt.Fprintf(&out, "all: %d of %d pass\n", sumPassed, sumTried)
	t.Log("\n" + out.String())
	if testing.Short() {
		return
	}
	const golden = "testdata/mutants.txt"
	if *write {
		if err := os.WriteFile(golden, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want, err := os.ReadFile(golden); err != nil || string(want) != out.String() {
		t.Errorf("%s differs: read what go test ./tests/certify -certified changes", golden)
	}
}

// difference is where two texts differ, with some of what is around.
func difference(a, b string) string {
	const around = 60
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	k := 0
	for k < len(a)-i && k < len(b)-i && a[len(a)-1-k] == b[len(b)-1-k] {
		k++
	}
	from := max(0, i-around)
	clean := func(s string) string {
		s = strings.ReplaceAll(strings.ReplaceAll(s, "pg_catalog.", ""), "operator(", "(")
		if len(s) > 200 {
			s = s[:200] + "…"
		}
		return s
	}
	return clean(a[from:i]) + "⟦" + clean(a[i:len(a)-k]) + "⟧→⟦" + clean(b[i:len(b)-k]) + "⟧" +
		clean(a[len(a)-k:min(len(a), len(a)-k+around)])
}
