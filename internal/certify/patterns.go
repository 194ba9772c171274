package certify

import (
	"regexp"
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// row is ROW(…): comparing, sorting and hashing it is total if that of its columns is (record_cmp,
// hash_record_extended); equal ones have equal bytes if these have.
func (s *scope) row(r *pg.RowExpr) (value, error) {
	args, err := s.exprs(r.Args)
	if err != nil {
		return value{}, err
	}
	v := made("row", span{}, args...)
	v.notNull, v.present, v.exact = true, true, true
	for i, a := range args {
		if v.exact = v.exact && a.exact && !blanked(a.typ); a.array || !sortable[a.typ] && !blanked(a.typ) &&
			s.facts.Enums[a.typ] == nil {
			return value{}, missing(where(r.Args[i]), "ROW", "of %s", a.typ)
		}
	}
	return v, nil
}

// like are the operators that match patterns: of LIKE, or regular expressions.
var like = map[string]string{
	"~~": "LIKE", "!~~": "LIKE", "~~*": "ILIKE", "!~~*": "ILIKE", "~": "~", "!~": "~",
	"~*": "~", "!~*": "~",
}

// matches is LIKE, ILIKE, or a regular expression.
//
// Rule: the pattern is a constant, of LIKE with at most 100 characters and no backslash at its end; of a regular
// expression one of a small language; the collation is deterministic; text that is lowered or expanded is short. Proof:
// like_match.c raises an error for a backslash at the end, and recurses once for each %; regexec.c, without back
// references, runs an automaton that a pattern of this size keeps small.
func (s *scope) matches(e *pg.A_Expr, kind string, a, b value) (value, error) {
	pattern, ok := word(b), isText(a.typ) && !a.array && a.plain() && !b.array && (b.typ == "text" || b.typ == "unknown")
	if f := e.Rexpr.GetFuncCall(); f != nil && kind == "~" { // similar_to_escape(pattern)
		fn, known := name(f.Funcname)
		args, err := s.exprs(f.Args)
		if err != nil || !known || fn != "similar_to_escape" || len(args) != 1 || !similarTo(word(args[0])) {
			return value{}, missing(e.Location, "pattern", "that is no constant")
		}
		pattern = strings.ReplaceAll(strings.ReplaceAll(word(args[0]), "%", ".*"), "_", ".")
	}
	if kind != "LIKE" {
		ok = ok && a.hi != nil && a.hi.Cmp(power(2, 21)) <= 0
	}
	if !b.none {
		ok = ok && pattern != "" && len(pattern) <= 100 && (kind != "~" && escaped.MatchString(pattern) || kind == "~" &&
			expression(pattern))
	}
	if !ok {
		return value{}, missing(e.Location, "pattern", "%s of %s", kind, a.typ)
	}
	return made("bool", span{}, a, b), nil
}

// matchesAny is LIKE ANY or ALL of a list of patterns, each of which is a constant.
func (s *scope) matchesAny(e *pg.A_Expr, op string, a, pattern value) (value, error) {
	list := pattern.elements
	if len(list) == 0 {
		return value{}, missing(e.Location, "operator "+op+" ANY", "of no constants")
	}
	for i := range list {
		pattern.elements = list[i : i+1]
		if _, err := s.matches(e, like[op], a, pattern); err != nil {
			return value{}, err
		}
	}
	r := made("bool", span{}, a)
	r.notNull, r.present = false, false
	return r, nil
}

var (
	escaped = regexp.MustCompile(`^(?s:[^\\]|\\.)*$`)
	similar = regexp.MustCompile(`^(?:[A-Za-z0-9 ()|%_*+?]|\[\^?(?:[A-Za-z0-9](?:-[A-Za-z0-9])?)+\])+$`)
	atom    = regexp.MustCompile(
		`^(?:[A-Za-z0-9 _,:;@%/"=<>~&'-]|\\[dws.]|\.|\[\^?(?:[A-Za-z0-9_ ](?:-[A-Za-z0-9])?|\[:(?:alpha|digit|alnum|space):\])+\])`)
	ends  = regexp.MustCompile(`(.)-(.)`)
	again = regexp.MustCompile(`^(?:[*+?]|\{[1-9]\}|\{[1-9],[1-9]?\})`)
)

// similarTo reports whether similar_to_escape surely reads a pattern: it copies sets of characters, and lets % and _
// stand for any outside.
func similarTo(p string) bool { return len(p) <= 50 && similar.MatchString(p) }

// expression reports whether a pattern is surely a regular expression: atoms, repeated or not, groups, alternatives, ^
// and $. Ranges in sets go up (range in regc_locale.c: by code points, in any collation).
func expression(p string) bool {
	depth, repeatable, group := 0, false, false
	for p != "" {
		if m := atom.FindString(p); m != "" {
			if m[0] == '[' && slices.ContainsFunc(ends.FindAllStringSubmatch(m, -1), func(r []string) bool {
				return r[1] > r[2]
			}) {
				return false
			}
			p, repeatable, group = p[len(m):], true, false
			continue
		}
		if m := again.FindString(p); m != "" && repeatable {
			if len(m) == 5 && m[1] > m[3] || len(m) > 1 && group { // counts of counts are large
				return false
			}
			p, repeatable = p[len(m):], false
			continue
		}
		switch p[0] {
		case '(':
			depth++
			repeatable = false
		case ')':
			depth--
			repeatable, group = true, true
		case '|', '^', '$':
			repeatable = false
		default:
			return false
		}
		if depth < 0 {
			return false
		}
		p = p[1:]
	}
	return depth == 0
}
