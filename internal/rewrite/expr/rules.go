package expr

import (
	"slices"
	"strings"

	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
)

// rule says when operations are total and what is known of their results. The families list theirs in files rule_*.go;
// what no rule names is refused.
type rule struct {
	names string // operators and functions, separated by blanks
	args  string // lists of argument types, separated by blanks: "int2|int4,text" stands for int2,text and int4,text
	total string // the condition under which no row can raise an error

	unclamped     bool     // total on values outside the declared bounds too: columns are read as they are
	bounded       bool     // total on numbers and times that have bounds, and on no other
	short         bool     // of a text, the first argument, 2^20 characters are read: the rest is cut off
	deterministic bool     // raises under a collation that is not
	constants     []string // what arguments are that have to be constants; empty: they need not be
	longest       int      // bytes of a constant text; 0: mostChars
	cost          cost

	// apply refuses what may raise, and bounds the result, which is whatever its type holds. It is called when what the
	// rule says of the arguments holds, and not before their values are known where it says anything.
	apply func(c *call, e *Expr) error

	// build replaces args and apply for functions that PostgreSQL's catalog does not describe: they take any types, or
	// need their arguments' text. One that gives neither an expression nor an error leaves the call to the rules by
	// argument types.
	build func(c *call, name string) (*Expr, error)
}

// signatures lists name(type,type) for each operation of the rule.
func (r rule) signatures() []string {
	lists := []string{""}
	if r.args != "" {
		lists = nil
		for alternatives := range strings.FieldsSeq(r.args) {
			lists = append(lists, expand(alternatives)...)
		}
	}
	var out []string
	for name := range strings.FieldsSeq(r.names) {
		for _, list := range lists {
			out = append(out, name+"("+list+")")
		}
	}
	return out
}

// expand lists the argument lists that "int2|int4,text" stands for.
func expand(alternatives string) []string {
	first, rest, more := strings.Cut(alternatives, ",")
	tails := []string{""}
	if more {
		tails = expand(rest)
		for i := range tails {
			tails[i] = "," + tails[i]
		}
	}
	var out []string
	for typ := range strings.SplitSeq(first, "|") {
		for _, tail := range tails {
			out = append(out, typ+tail)
		}
	}
	return out
}

// ruleTable holds every operation that may run on private rows.
type ruleTable struct {
	bySignature map[string]rule // name(argument types), as PostgreSQL resolved it
	builders    map[string]rule // by name: those with build
}

var allRules = collect(comparisonRules, arithmeticRules, mathRules, bucketRules, datetimeRules, extractRules,
	formatRules, textRules, patternRules)

// collect makes the table. Two rules for one operation are a mistake in the lists.
func collect(families ...[]rule) *ruleTable {
	t := &ruleTable{map[string]rule{}, map[string]rule{}}
	put := func(m map[string]rule, key string, r rule) {
		if _, ok := m[key]; ok {
			panic("expr: two rules for " + key)
		}
		m[key] = r
	}
	for _, r := range slices.Concat(families...) {
		if r.build != nil {
			for name := range strings.FieldsSeq(r.names) {
				put(t.builders, name, r)
			}
			continue
		}
		for _, signature := range r.signatures() {
			put(t.bySignature, signature, r)
		}
	}
	return t
}

// similar hints at the argument types that would be accepted.
func (t *ruleTable) similar(cand *pgresolve.Candidate) string {
	var forms []string
	for signature := range t.bySignature {
		name, args, _ := strings.Cut(signature, "(")
		if name == cand.Name {
			forms = append(forms, "("+args)
		}
	}
	if len(forms) == 0 {
		return ""
	}
	slices.Sort(forms)
	return cand.Name + " is supported for " + strings.Join(forms, ", ") + "; above the aggregates it is for all types"
}
