package expr

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/refusal"
)

// Patterns are constants, validated here: PostgreSQL raises on a bad one only when a row is matched, and a pattern with many
// wildcards takes a time that depends on the row.
const (
	maxPattern   = 1000 // bytes of a LIKE pattern
	maxWildcards = 8    // % of one pattern; matching is of that degree in the worst case
	maxSimilar   = 200  // bytes of a SIMILAR TO pattern
)

var patternRules = []rule{
	{names: "~~ !~~ ~~* !~~*", args: "text|bpchar|name,text", total: "a constant pattern of at most 8 %; deterministic collation", unclamped: true, cost: cost{perPiece: 4}, apply: like},
	{names: "~ !~ ~* !~*", args: "text|bpchar|name,text", total: "SIMILAR TO with a constant pattern without nested repetition; a constant regular expression of at most 200 bytes without references back, looking around, options and letters after a backslash other than d, w and s", unclamped: true, cost: cost{perChar: 25}, apply: regexpMatch},
}

// similarPattern builds an operand; ESCAPE clauses are applied here.
func (b *builder) similarPattern(a *pg_query.A_Expr, n *pg_query.Node) (*Expr, error) {
	f := n.GetFuncCall()
	if f == nil || n != a.Rexpr {
		return b.expr(n)
	}
	name := functionWord(f)
	if name != "like_escape" && name != "similar_to_escape" {
		return b.expr(n)
	}
	args, err := b.list(f.Args)
	if err != nil {
		return nil, err
	}
	for i, x := range args {
		if args[i], err = b.coerce(x, pgtype.TextOID, x); err != nil {
			return nil, err
		}
	}
	c := &call{args: args, loc: int(a.Location), text: describeOperator(a)}
	return c.escapedPattern(name == "like_escape", int(f.Location))
}

// escapedPattern builds a pattern with its ESCAPE clause.
func (c *call) escapedPattern(isLike bool, loc int) (*Expr, error) {
	pattern, known, err := c.constantText(0, "the pattern")
	if err != nil {
		return nil, err
	}
	escape, escapeKnown := `\`, true
	if len(c.args) > 1 {
		if escape, escapeKnown, err = c.constantText(1, "the escape character"); err != nil {
			return nil, err
		}
	}
	if !known || !escapeKnown {
		e := c.result(pgtype.TextOID)
		if !e.provisional {
			return nullExpr(pgtype.TextOID, e.typeName, loc), nil
		}
		name := "similar_to_escape" // what a constant condition is asked with before values are known
		if isLike {
			name = "like_escape"
		}
		e.tmpl = functionTemplate(name, len(c.args))
		return e, nil
	}
	if len([]rune(escape)) > 1 {
		return nil, c.refuse(refusal.Pattern, "an escape must be one character or empty", "")
	}
	if isLike {
		return typed(pgtype.TextOID, escaped(pattern, escape), loc)
	}
	if escape != `\` || !similarForm(pattern) {
		return nil, c.refuse(refusal.Pattern, "this pattern is not supported",
			`SIMILAR TO takes letters, %, _, |, [abc], (…) and *, + or ? after what holds none of them; or write several LIKE with OR`)
	}
	d := &call{args: c.args[:1], loc: loc, text: c.text, tmpl: "pg_catalog.similar_to_escape({0})"}
	e := d.result(pgtype.TextOID)
	e.regex = true
	return e, nil
}

// escaped rewrites a LIKE pattern with another escape character to one with a backslash (like_match.c, do_like_escape).
func escaped(pattern, escape string) string {
	if escape == "" {
		return strings.ReplaceAll(pattern, `\`, `\\`)
	}
	var out strings.Builder
	after := false
	for _, r := range pattern {
		switch {
		case string(r) == escape && !after:
			out.WriteByte('\\')
			after = true
		case r == '\\' && escape != `\`:
			if !after {
				out.WriteByte('\\')
			}
			out.WriteByte('\\')
			after = false
		default:
			out.WriteRune(r)
			after = false
		}
	}
	return out.String()
}

// like raises on a pattern that ends with the escape character, and under a collation that is not deterministic.
func like(c *call) (*Expr, error) {
	pattern, known, err := c.constantText(1, "the pattern")
	if err != nil {
		return nil, err
	}
	if known {
		if len(pattern) > maxPattern {
			return nil, c.refuse(refusal.Pattern, fmt.Sprintf("the pattern is longer than %d bytes", maxPattern), "")
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
		if after {
			return nil, c.refuse(refusal.Pattern, "the pattern ends with an escape character", `write \\ for a backslash`)
		}
		if wildcards > maxWildcards {
			return nil, c.refuse(refusal.Pattern, fmt.Sprintf("the pattern has more than %d %%", maxWildcards), "")
		}
	}
	if strings.HasSuffix(c.cand.Name, "*") {
		c.args = []*Expr{limited(c.args[0]), c.args[1]}
	}
	return c.result(pgtype.BoolOID), c.deterministic()
}

// similarTo bounds ~ with a pattern that SIMILAR TO made.
func similarTo(c *call) (*Expr, error) {
	c.args = []*Expr{limited(c.args[0]), c.args[1]}
	return c.result(pgtype.BoolOID), c.deterministic()
}

// similarForm accepts the SIMILAR TO patterns whose matching takes a time of low degree in the text: alternatives of single
// characters and sets, each repeated at most once, with groups that are repeated only if nothing in them is.
func similarForm(p string) bool {
	if len(p) > maxSimilar {
		return false
	}
	var groups []int // repeats before each open group
	repeats := 0
	repeatable := false // the last item may take * + ?
	runes := []rune(p)
	for i := 0; i < len(runes); i++ {
		switch r := runes[i]; r {
		case '\\':
			i++
			if i == len(runes) || !strings.ContainsRune(`%_|*+?(){}[].^$\-`, runes[i]) {
				return false
			}
			repeatable = true
		case '*', '+', '?':
			if !repeatable {
				return false
			}
			repeats++
			repeatable = false
		case '%':
			repeats++
			repeatable = false
		case '(':
			groups = append(groups, repeats)
			repeatable = false
		case ')':
			if len(groups) == 0 {
				return false
			}
			repeatable = groups[len(groups)-1] == repeats
			groups = groups[:len(groups)-1]
		case '|':
			repeatable = false
		case '[':
			end := similarSet(runes[i+1:])
			if end < 0 {
				return false
			}
			i += end + 1
			repeatable = true
		case '{', '}', ']', '"':
			return false
		default:
			repeatable = true
		}
	}
	return len(groups) == 0 && repeats <= maxWildcards
}

// similarSet gives the index of the ] that ends a set of letters, digits, spaces and ranges of them; −1 if it is none.
func similarSet(s []rune) int {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == ' ' || r == '_'
	}
	i := 0
	if i < len(s) && s[i] == '^' {
		i++
	}
	first := i
	for ; i < len(s); i++ {
		switch {
		case s[i] == ']' && i > first:
			return i
		case plain(s[i]):
			if i+2 < len(s) && s[i+1] == '-' && s[i+2] != ']' {
				if !plain(s[i+2]) || s[i] > s[i+2] {
					return -1
				}
				i += 2
			}
		default:
			return -1
		}
	}
	return -1
}
