package expr

import (
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"
)

// A range of columns is no value here: what is asked of one is said of its bounds. PostgreSQL raises an error where a range's lower bound is above its
// upper one, and no row may; such a range is empty.

// rangeElements are the types that ranges are of.
var rangeElements = map[string]string{
	"int4range": "int4", "int8range": "int8", "numrange": "numeric", "daterange": "date", "tsrange": "timestamp", "tstzrange": "timestamptz",
}

// discreteRanges have [a,b) in the place of every other form.
var discreteRanges = map[string]bool{"int4range": true, "int8range": true, "daterange": true}

// rangeOf is a range as it is written: by its constructor, or as a constant.
type rangeOf struct {
	name             string
	lower, upper     *pg_query.Node // nil: none
	lowerIn, upperIn bool
}

// constantRange reads the text of a range, without quotes: its brackets and its bounds.
func constantRange(text string) (flags, lower, upper string, ok bool) {
	text = strings.TrimSpace(text)
	if len(text) < 3 || strings.Count(text, ",") != 1 {
		return "", "", "", false
	}
	lower, upper, _ = strings.Cut(text[1:len(text)-1], ",")
	for _, end := range []*string{&lower, &upper} {
		if *end = strings.TrimSpace(*end); len(*end) > 2 && strings.HasPrefix(*end, `"`) && strings.HasSuffix(*end, `"`) {
			*end = (*end)[1 : len(*end)-1]
		}
		if strings.ContainsAny(*end, `"\`) {
			return "", "", "", false
		}
	}
	return text[:1] + text[len(text)-1:], lower, upper, true
}

// asRange reads an operand that is a range; nil where it is none.
func asRange(n *pg_query.Node) *rangeOf {
	if f := n.GetFuncCall(); f != nil && rangeElements[functionWord(f)] != "" && (len(f.Args) == 2 || len(f.Args) == 3) {
		flags := "[)"
		if len(f.Args) == 3 {
			flags = f.Args[2].GetAConst().GetSval().GetSval()
		}
		return newRange(functionWord(f), f.Args[0], f.Args[1], flags)
	}
	c := n.GetTypeCast()
	names := c.GetTypeName().GetNames()
	if len(names) == 2 && names[0].GetString_().GetSval() == "pg_catalog" {
		names = names[1:]
	}
	if len(names) != 1 || len(c.TypeName.ArrayBounds) > 0 {
		return nil
	}
	return rangeText(names[0].GetString_().GetSval(), c.Arg.GetAConst().GetSval().GetSval(), int(c.Location))
}

// rangeText reads the text of a range of a type; nil where it is none that is understood.
func rangeText(name, text string, loc int) *rangeOf {
	flags, lower, upper, ok := constantRange(text)
	if rangeElements[name] == "" || !ok {
		return nil
	}
	end := func(text string) *pg_query.Node {
		if text == "" {
			return nil
		}
		return pg_query.MakeAConstStrNode(text, int32(loc))
	}
	return newRange(name, end(lower), end(upper), flags)
}

func newRange(name string, lower, upper *pg_query.Node, flags string) *rangeOf {
	if len(flags) != 2 || !strings.ContainsAny(flags[:1], "[(") || !strings.ContainsAny(flags[1:], "])") {
		return nil
	}
	r := &rangeOf{name: name, lowerIn: flags[0] == '[', upperIn: flags[1] == ']'}
	end := func(n *pg_query.Node) *pg_query.Node {
		if n == nil || n.GetAConst().GetIsnull() {
			return nil
		}
		if n.GetAConst() != nil || n.GetParamRef() != nil {
			return r.element(n) // which an unknown literal has here
		}
		return n
	}
	r.lower, r.upper = end(lower), end(upper)
	return r
}
