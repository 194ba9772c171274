package expr

// rules is the table of operators and functions that may run on private rows, by resolved identity: name(argument types). What
// it does not hold is refused. The families fill it: arith.go, math.go, compare.go, datetime.go, extract.go, text.go, like.go.
var rules = map[string]rule{}

// define adds one rule for each signature.
func define(total string, raw bool, apply func(c *call) (*Expr, error), signatures ...string) {
	for _, s := range signatures {
		rules[s] = rule{total, raw, apply}
	}
}

// Rule describes one entry of the table, for the documentation.
type Rule struct {
	Signature string // name(argument types)
	Result    string // result type
	Total     string // when it is total
}

// Rules lists the table in order of signature.
func Rules() []Rule { return listRules() }
