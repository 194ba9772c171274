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

// PostgreSQL matches a regular expression without references back and without looking around by one automaton, in a time that grows with
// the text times the states. So those are accepted: which they are, Go's parser says, whose expressions have neither. What an accepted
// one means stays PostgreSQL's matter.

const (
	maxRegexp       = 200 // bytes of a regular expression
	maxInstructions = 400 // of its program: counted repetitions are written out
)

// regexpMatch bounds ~ and ~* with a constant pattern. PostgreSQL compiles it before any row is matched: a bad one would raise only where a
// row is read.
func regexpMatch(c *call) (*Expr, error) {
	p := c.args[1]
	if p.regex || p.provisional || isNull(p) {
		return similarTo(c)
	}
	pattern, known, err := c.constantText(1, "the pattern")
	if err != nil {
		return nil, err
	}
	if known {
		size, err := c.safeRegexp(pattern)
		if err != nil {
			return nil, err
		}
		c.cost.perChar += 4 * size
		if err := c.compiled(pattern); err != nil {
			return nil, err
		}
	}
	c.args = []*Expr{limited(c.args[0]), c.args[1]}
	return c.result(pgtype.BoolOID), c.deterministic()
}

// safeRegexp gives the size of a pattern's program.
func (c *call) safeRegexp(pattern string) (int64, error) {
	hint := "Write letters, ., ^, $, [abc], (…), |, *, +, ? and {m,n}; or LIKE"
	if len(pattern) > maxRegexp {
		return 0, c.refuse(refusal.Pattern, fmt.Sprintf("the regular expression is longer than %d bytes", maxRegexp), hint)
	}
	if strings.HasPrefix(pattern, "***") || strings.Contains(strings.ReplaceAll(pattern, "(?:", ""), "(?") || !plainEscapes(pattern) {
		return 0, c.refuse(refusal.Pattern, "the regular expression refers back, looks around, or has options or escapes that are not supported", hint)
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
		if i++; i == len(pattern) || !strings.ContainsRune(`dwsDWS.^$*+?()[]{}|\-/`, rune(pattern[i])) {
			return false
		}
	}
	return true
}

// compiled has PostgreSQL compile a pattern, whose error is the client's.
func (c *call) compiled(pattern string) error {
	constant := func(s string) *pg_query.Node { return pg_query.MakeAConstStrNode(s, int32(c.loc)) }
	n := &pg_query.Node{Node: &pg_query.Node_AExpr{AExpr: &pg_query.A_Expr{
		Kind: pg_query.A_Expr_Kind_AEXPR_OP, Name: []*pg_query.Node{pg_query.MakeStrNode(c.cand.Name)}, Lexpr: constant(""), Rexpr: constant(pattern), Location: int32(c.loc),
	}}}
	text, err := typed(pgtype.TextOID, pattern, c.loc)
	if err != nil {
		return err
	}
	_, _, err = c.b.scope.Compute(n, pgtype.BoolOID, query.F("(''::pg_catalog.text OPERATOR(pg_catalog.{}) {})", c.cand.Name, text.SQL()))
	return err
}
