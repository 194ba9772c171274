package certify

import (
	"cmp"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// Step is a rule that was applied. docs/certify.md has the rule under its name.
type Step struct {
	Depth int    `json:"depth"`        // in how many queries it stands
	At    int    `json:"at,omitempty"` // the byte of the text near which it was applied, from 1; 0: to the whole
	Of    string `json:"of"`           // what it was applied to, shortened
	Rule  string `json:"rule"`
	Gave  string `json:"gave"`
}

func (s Step) String() string {
	return fmt.Sprintf("%5d %s%s: %s → %s", s.At, strings.Repeat("  ", s.Depth), s.Rule, s.Of, s.Gave)
}

// derivation is what Derive keeps.
type derivation struct {
	depth int
	rules []Step
	known map[Step]int // where they are, without what they gave
}

// Derive returns the rules that Check applies, the premises of a rule before it: all of them, or those before the one
// that is missing.
func Derive(facts Facts, sql string, parameters []Value, claims []Claim) []Step {
	d := &derivation{known: map[Step]int{}}
	_, _ = check(facts, sql, parameters, claims, d)
	return d.rules
}

// deeper goes into a query, or out of it.
func (d *derivation) deeper(by int) {
	if d != nil {
		d.depth += by
	}
}

// note keeps what a rule gave. Where it is applied again, as more is known of the rows, the last counts.
func (d *derivation) note(rule string, gave shown, of ...*pg.Node) {
	if d == nil {
		return
	}
	s := Step{Depth: d.depth, Of: shortened(of), Rule: rule}
	if len(of) > 0 {
		s.At = int(where(of[0])) + 1
	}
	i, again := d.known[s]
	if !again {
		i = len(d.rules)
		d.known[s], d.rules = i, append(d.rules, s)
	}
	d.rules[i].Gave = gave.shown()
}

// noteValue keeps what is known of an expression. rule is empty where that of its node was applied.
func (d *derivation) noteValue(rule string, v value, n *pg.Node) {
	if d == nil {
		return
	}
	if rule = cmp.Or(rule, ruleOf(n)); rule != "" {
		d.note(rule, v, n)
	}
}

// ruleOf names the rule that a node asks for, where that is one.
func ruleOf(n *pg.Node) string {
	e, c := n.GetAExpr(), n.GetTypeCast()
	switch op, _ := name(e.GetName()); {
	case c.GetArg().GetAConst() != nil || c.GetArg().GetParamRef() != nil:
		return ""
	case e.GetKind() == pg.A_Expr_Kind_AEXPR_NULLIF:
		return "nullIf"
	case comparisons[op]:
		return "compares"
	case like[op] != "":
		return "matches"
	}
	return map[string]string{
		"TypeCast": "converted", "CollateClause": "collated", "CaseExpr": "caseOf", "CoalesceExpr": "coalesce",
		"MinMaxExpr": "minMax",
		"FuncCall":   "apply", "SubLink": "sublink", "AExpr": "arithmetic",
	}[kindName(n)]
}

var qualified = regexp.MustCompile(`OPERATOR\(pg_catalog\.([^)]*)\)|pg_catalog\.`)

// shortened is the text of nodes: the pg_catalog that stands before everything is left out.
func shortened(nodes []*pg.Node) string {
	const most = 60 // letters
	if len(nodes) == 0 {
		return "the query"
	}
	tree, err := pg.Parse("SELECT")
	if err != nil {
		return ""
	}
	q := tree.Stmts[0].Stmt.GetSelectStmt()
	for _, n := range nodes {
		switch {
		case n.GetRangeVar() != nil:
			q.FromClause = append(q.FromClause, n)
		case n.GetResTarget() != nil:
			q.TargetList = append(q.TargetList, n)
		default:
			q.TargetList = append(q.TargetList, &pg.Node{Node: &pg.Node_ResTarget{ResTarget: &pg.ResTarget{Val: n}}})
		}
	}
	text, err := pg.Deparse(tree)
	if err != nil {
		return ""
	}
	text = strings.TrimPrefix(strings.TrimSpace(strings.TrimPrefix(text, "SELECT")), "FROM ")
	letters := []rune(qualified.ReplaceAllString(text, "$1"))
	if len(letters) > most {
		letters = append(letters[:most], '…')
	}
	return string(letters)
}

// shown is what a rule may give.
type shown interface{ shown() string }

// said is a sentence.
type said string

func (s said) shown() string { return string(s) }

func (r *relation) shown() string {
	parts := []string{[...]string{"public", "split", "nested", "grouped"}[r.kind]}
	if r.kind == split || r.kind == nested {
		parts = append(parts, "of a unit "+show(r.rows)+" rows")
	}
	for _, k := range r.keys {
		var names []string
		for _, i := range r.places(k) {
			names = append(names, cmp.Or(r.columns[i].name, "?"))
		}
		if text := "key (" + strings.Join(names, ", ") + ")"; len(names) > 0 && !slices.Contains(parts, text) {
			parts = append(parts, text)
		}
	}
	for _, c := range r.columns {
		if c.value.unit {
			parts = append(parts, "unit "+c.name)
		}
	}
	return strings.Join(parts, ", ")
}

func (v value) shown() string {
	if v.influence != nil {
		return "moves by " + v.influence.String()
	}
	text := v.typ
	if of := spanOf(v.typ); v.lo != of.lo || v.hi != of.hi {
		text += " " + end(v.lo) + ".." + end(v.hi)
	}
	if v.nan {
		text += " or NaN"
	}
	if !v.there() {
		text += " or NULL"
	}
	if v.ofUnit && !v.public {
		text += ", the same in all rows of a unit"
	}
	if v.total != nil {
		text += ", magnitudes of a unit add up to " + show(v.total)
	}
	return text
}

// end is one of a span.
func end(r *big.Rat) string {
	if r == nil {
		return ""
	}
	return new(big.Float).SetRat(r).Text('g', 20)
}
