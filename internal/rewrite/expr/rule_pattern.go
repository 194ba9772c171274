package expr

import (
	"fmt"
	"regexp/syntax"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// Patterns are constants, validated here: PostgreSQL raises on a bad one only when a row is matched, and a pattern with
// many wildcards takes a time that depends on the row. PostgreSQL matches a regular expression without references back
// and without looking around by one automaton, in a time that grows with the text times the states. So those are
// accepted: which they are, Go's parser says, whose expressions have neither. What an accepted one means stays
// PostgreSQL's matter. Of SIMILAR TO and of ESCAPE it makes such patterns.
const (
	maxPattern      = 1000 // bytes of a LIKE pattern
	maxWildcards    = 8    // % of one pattern; matching is of that degree in the worst case
	maxRegexp       = 200  // bytes of a regular expression
	maxInstructions = 400  // of its program: counted repetitions are written out
)

var patternRules = []rule{
	{
		names: "~~ !~~ ~~* !~~*", args: "text|bpchar|name,text",
		total: "a constant pattern of at most 8 %; deterministic collation", unclamped: true, deterministic: true,
		constants: []string{"", "the pattern"}, longest: maxPattern, apply: like,
	},
	{
		names: "~ !~ ~* !~*", args: "text|bpchar|name,text",
		total: "a constant regular expression, or pattern of SIMILAR TO, of at most 200 bytes without references back, looking around, options and letters after a backslash other than d, w and s", unclamped: true, short: true, deterministic: true, constants: []string{"", "the pattern"}, longest: maxRegexp, cost: cost{perChar: 25}, apply: regexpMatch,
	},
}

// pattern builds an operand. What SIMILAR TO and ESCAPE make of a pattern is computed, so the pattern has to be a
// constant. That of SIMILAR TO is printed as it was written.
func (b *builder) pattern(n *pg_query.Node) (*Expr, error) {
	f := n.GetFuncCall()
	name := functionWord(f)
	switch {
	case name != "similar_to_escape" && name != "like_escape":
	case !closed(n):
		return nil, Refuse(refusal.ConstantNeeded, locationOf(n), "the pattern is not a constant",
			"write a constant or a parameter")
	case name == "similar_to_escape" && len(f.Args) > 1:
		return nil, Refuse(refusal.Pattern, locationOf(n), "SIMILAR TO with ESCAPE is not supported",
			"write a regular expression, as in x ~ '^[abc]'")
	}
	made, err := b.expr(n)
	if err != nil || name != "similar_to_escape" || made.value == nil || made.value.text == nil {
		return made, err
	}
	args, err := b.list(f.Args)
	if err != nil {
		return nil, err
	}
	if args[0], err = b.coerce(args[0], pgtype.TextOID, args[0]); err != nil {
		return nil, err
	}
	c := &call{args: args, loc: locationOf(n), text: made.Text(), tmpl: functionTemplate(name, 1)}
	e := c.result(pgtype.TextOID)
	e.pattern = made.value.text
	return e, nil
}

// like raises on a pattern that ends with the escape character, and under a collation that is not deterministic.
func like(c *call, e *Expr) error {
	pattern := c.textOf(1)
	for piece := range strings.SplitSeq(pattern, "%") { // each character is compared with one of four of the longest piece
		e.cost.perChar = max(e.cost.perChar, int64(len(piece))/4)
	}
	wildcards, after := 0, false
	previous := rune(0)
	for _, r := range pattern {
		if r == '%' && !after && previous != '%' {
			wildcards++
		}
		previous = r
		after = r == '\\' && !after
	}
	switch {
	case after:
		return c.refuse(refusal.Pattern, "the pattern ends with an escape character", `write \\ for a backslash`)
	case wildcards > maxWildcards:
		return c.refuse(refusal.Pattern, fmt.Sprintf("the pattern has more than %d %%", maxWildcards), "")
	case strings.HasSuffix(c.cand.Name, "*"):
		c.args[0] = limited(c.args[0])
	}
	return nil
}

// regexpMatch bounds ~ and ~* with a constant pattern. PostgreSQL compiles it before any row is matched: a bad one
// would raise only where a row is read.
func regexpMatch(c *call, e *Expr) error {
	pattern := c.textOf(1)
	size, err := c.safeRegexp(pattern)
	if err != nil {
		return err
	}
	e.cost.perChar += 4 * size
	return c.compiled(pattern)
}

// safeRegexp gives the size of a pattern's program.
func (c *call) safeRegexp(pattern string) (int64, error) {
	hint := "Write letters, ., ^, $, [abc], (…), |, *, +, ? and {m,n}; or LIKE"
	if strings.HasPrefix(pattern, "***") || strings.Contains(strings.ReplaceAll(pattern, "(?:", ""), "(?") ||
		!plainEscapes(pattern) {
		return 0,
			c.refuse(refusal.Pattern,
				"the regular expression refers back, looks around, or has options or escapes that are not supported", hint)
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0, c.refuse(refusal.Pattern, "the regular expression is not one that is read here", hint)
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil || len(program.Inst) > maxInstructions {
		return 0, c.refuse(refusal.Pattern, "the regular expression repeats too much", "Repeat fewer times")
	}
	return int64(len(program.Inst)), nil
}

// plainEscapes says that a backslash stands before punctuation or one of the classes that every dialect has.
func plainEscapes(pattern string) bool {
	for i := 0; i < len(pattern); i++ {
		if pattern[i] != '\\' {
			continue
		}
		if i++; i == len(pattern) || !strings.ContainsRune(`dwsDWS.^$*+?()[]{}|\-/%_`, rune(pattern[i])) {
			return false
		}
	}
	return true
}

// compiled has PostgreSQL compile a pattern, whose error is the client's.
func (c *call) compiled(pattern string) error {
	constant := func(s string) *pg_query.Node { return pg_query.MakeAConstStrNode(s, int32(c.loc)) }
	n := &pg_query.Node{Node: &pg_query.Node_AExpr{AExpr: &pg_query.A_Expr{
		Kind: pg_query.A_Expr_Kind_AEXPR_OP, Name: []*pg_query.Node{pg_query.MakeStrNode(c.cand.Name)}, Lexpr: constant(""),
		Rexpr: constant(pattern), Location: int32(c.loc),
	}}}
	text, err := typed(pgtype.TextOID, pattern, c.loc)
	if err != nil {
		return err
	}
	_, _, err = c.b.scope.Compute(n, pgtype.BoolOID, query.F("(''::pg_catalog.text OPERATOR(pg_catalog.{}) {})",
		c.cand.Name, text.SQL()))
	return err
}
