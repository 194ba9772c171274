package expr

import (
	"strings"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
)

// arrayText reads PostgreSQL's text form of a one-dimensional array: {1,NULL,"a \" b"}.
func (b *builder) arrayText(s string, elem uint32, loc int) (*Expr, error) {
	items, ok := splitArray(s)
	if !ok {
		return nil, Refuse(refusal.Array, loc, "the array is not in a form that dpproxy reads",
			"write one-dimensional arrays, as {1,2,3}")
	}
	e := newExpr(pgresolve.LookupType(elem).Array, loc)
	e.value = &constant{items: []*Expr{}}
	for _, item := range items {
		x := nullExpr(elem, pgresolve.Qualified(elem, -1), loc)
		if item != nil {
			var err error
			if x, err = typed(elem, *item, loc); err != nil {
				return nil, err
			}
		}
		e.value.items = append(e.value.items, x)
		e.args = append(e.args, x)
	}
	e.tmpl = arrayTemplate(len(e.args))
	return e, nil
}

// splitArray splits an array's text into its elements; nil is NULL.
func splitArray(s string) (items []*string, ok bool) {
	s = strings.TrimSpace(s)
	if len(s) < 2 || s[0] != '{' || s[len(s)-1] != '}' {
		return nil, false
	}
	body := s[1 : len(s)-1]
	if strings.TrimSpace(body) == "" {
		return nil, true
	}
	for {
		item, rest, ok := arrayItem(body)
		if !ok {
			return nil, false
		}
		items = append(items, item)
		if rest == "" {
			return items, true
		}
		body = rest[1:]
	}
}

// arrayItem reads one element; rest is empty or begins with a comma.
func arrayItem(s string) (item *string, rest string, ok bool) {
	s = strings.TrimLeft(s, " \t\n\r")
	var out strings.Builder
	if !strings.HasPrefix(s, `"`) {
		end := strings.IndexByte(s, ',')
		if end < 0 {
			end = len(s)
		}
		word := strings.TrimRight(s[:end], " \t\n\r")
		if word == "" || strings.ContainsAny(word, `{}"\`) {
			return nil, "", false
		}
		if strings.EqualFold(word, "null") {
			return nil, s[end:], true
		}
		return &word, s[end:], true
	}
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			if i++; i == len(s) {
				return nil, "", false
			}
			out.WriteByte(s[i])
		case '"':
			text := out.String()
			rest = strings.TrimLeft(s[i+1:], " \t\n\r")
			return &text, rest, rest == "" || rest[0] == ','
		default:
			out.WriteByte(s[i])
		}
	}
	return nil, "", false
}
