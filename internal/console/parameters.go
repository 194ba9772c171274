package console

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// parameter is a :name of a question, with the value that stands in its field, and what that field is for.
type parameter struct {
	Name, Value string
	field
}

// field is for values of a type: the type that HTML calls it, or select, and what is written in it while it is empty.
type field struct{ Type, Hint string }

// maxParameters bounds the fields of a question.
const maxParameters = 20

// boundText is a question as the wire takes it: $1 in the place of the first name, wherever that stands.
type boundText struct {
	SQL    string
	Names  []string
	shifts []shift
}

// shift says that from a character of the bound text on, the question's own has so many more, or fewer.
type shift struct{ from, more int }

// bindNames puts $1, $2, … in the place of :names. Those in strings, quoted names and comments are no parameters, nor
// is the type of a cast ::name.
func bindNames(sql string) boundText {
	var b boundText
	var out strings.Builder
	number := map[string]int{}
	for rest := sql; rest != ""; {
		n := skipped(rest)
		if n == 0 && rest[0] == ':' {
			if name := nameOf(rest[1:]); name != "" {
				if number[name] == 0 {
					b.Names = append(b.Names, name)
					number[name] = len(b.Names)
				}
				out.WriteString("$" + strconv.Itoa(number[name]))
				more := utf8.RuneCountInString(name) - len(strconv.Itoa(number[name]))
				b.shifts = append(b.shifts, shift{utf8.RuneCountInString(out.String()), more})
				rest = rest[1+len(name):]
				continue
			}
		}
		n = max(n, 1)
		out.WriteString(rest[:n])
		rest = rest[n:]
	}
	b.SQL = out.String()
	return b
}

// own is where a character of the bound text, counted from 1, is in the question.
func (b boundText) own(position int) int {
	at := position
	for _, s := range b.shifts {
		if position > s.from {
			at += s.more
		}
	}
	return at
}

// nameOf is the name that a text begins with.
func nameOf(s string) string {
	end := 0
	for end < len(s) && isWord(s[end]) {
		end++
	}
	if end == 0 || isDigit(s[0]) {
		return ""
	}
	return s[:end]
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

// isWord says that a byte may stand in a word: to PostgreSQL, those of every character beyond ASCII may.
func isWord(b byte) bool {
	return b == '_' || isDigit(b) || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || b >= utf8.RuneSelf
}

// skipped is how many bytes at the beginning of a text have no parameter: a string, a quoted name, a comment, a word,
// or two colons; 0: look at the first byte. It ends each where the wire's scanner does.
func skipped(s string) int {
	until := func(from int, end string) int {
		if at := strings.Index(s[from:], end); at >= 0 {
			return from + at + len(end)
		}
		return len(s)
	}
	switch {
	case strings.HasPrefix(s, "::"), strings.HasPrefix(s, ":="):
		return 2
	case strings.HasPrefix(s, "--"):
		if at := strings.IndexAny(s, "\r\n"); at >= 0 {
			return at
		}
		return len(s)
	case strings.HasPrefix(s, "/*"):
		return comment(s)
	case s[0] == '\'', s[0] == '"':
		return until(1, s[:1])
	case len(s) > 1 && (s[0] == 'e' || s[0] == 'E') && s[1] == '\'':
		return escaped(s)
	case s[0] == '$':
		if tag := nameOf(s[1:]); strings.HasPrefix(s[1+len(tag):], "$") {
			return until(len(tag)+2, s[:len(tag)+2])
		}
		n := 1
		for n < len(s) && isDigit(s[n]) {
			n++
		}
		return n
	}
	return wordAt(s)
}

// wordAt is how long the word or number is that a text begins with: an e in it begins no string, and a $ in a word no
// quote.
func wordAt(s string) int {
	end := 0
	for end < len(s) && (isWord(s[end]) || end > 0 && s[end] == '$' && !isDigit(s[0])) {
		end++
	}
	return end
}

// comment is the length of a comment, in which others may be.
func comment(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch {
		case strings.HasPrefix(s[i:], "/*"):
			depth++
			i++
		case strings.HasPrefix(s[i:], "*/"):
			if depth--; depth == 0 {
				return i + 2
			}
			i++
		}
	}
	return len(s)
}

// escaped is the length of a string E'…', in which a backslash takes the next character.
func escaped(s string) int {
	for i := 2; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '\'':
			more := goesOn.FindString(s[i+1:])
			if more == "" {
				return i + 1
			}
			i += len(more)
		}
	}
	return len(s)
}

// goesOn matches what stands between the end of a part of a string and the next part: nothing, or a line break.
var goesOn = regexp.MustCompile(`^(?:[ \t\f\v]*[\r\n][ \t\r\n\f\v]*)?'`)

// parametersOf reads the fields of the names in a question.
func parametersOf(statements []statement, form url.Values) (list []parameter) {
	seen := map[string]bool{}
	for _, st := range statements {
		for _, name := range st.Names {
			if !seen[name] && len(list) <= maxParameters { // one more is refused
				list = append(list, parameter{Name: name, Value: form.Get(parameterPrefix + name), field: fieldOf(0)})
			}
			seen[name] = true
		}
	}
	return list
}

const parameterPrefix = "parameter "

// describe has the wire prepare the statements, which gives each field the type of its parameter. Of several it returns
// the first that is no SQL: then none is asked, as in a message of the wire.
func (p askPage) describe(ctx context.Context, c *client) (wrong statement, err error) {
	types := map[string]uint32{}
	for _, st := range p.statements[:min(len(p.statements), mostStatements)] {
		if len(st.Names) == 0 && len(p.statements) == 1 {
			continue
		}
		oids, err := c.types(ctx, price{Sets: st.Sets}, st.SQL)
		var e *pgconn.PgError
		if errors.As(err, &e) && e.Code == pgerr.SyntaxError && len(p.statements) > 1 {
			alone := *e
			alone.Hint = cmp.Or(e.Hint, "None of the statements was asked.")
			return st, &alone
		}
		for i, oid := range oids[:min(len(oids), len(st.Names))] {
			types[st.Names[i]] = cmp.Or(types[st.Names[i]], oid)
		}
	}
	for i := range p.Parameters {
		p.Parameters[i].field = fieldOf(types[p.Parameters[i].Name])
	}
	return wrong, nil
}

// fieldOf is the field for values of a type; 0: nobody knows of which.
func fieldOf(oid uint32) field {
	switch {
	case isNumber(oid):
		return field{"number", "a number"}
	case oid == pgtype.BoolOID:
		return field{Type: "select"}
	case oid == pgtype.DateOID:
		return field{Type: "date"}
	case oid == pgtype.TimestampOID:
		return field{Type: "datetime-local"}
	case oid == pgtype.TimestamptzOID:
		return field{"text", "2020-01-31 12:00+00"}
	case oid == pgtype.TextOID:
		return field{"text", "text, without quotes"}
	}
	return field{Type: "text"}
}

// values are those of a statement's parameters. Without one, nothing is asked.
func (p askPage) values(st statement) ([]string, error) {
	if len(p.Parameters) > maxParameters {
		return nil, pgerr.New(pgerr.ProgramLimitExceeded, "a question has "+strconv.Itoa(maxParameters)+" parameters at most")
	}
	values := make([]string, len(st.Names))
	for _, v := range p.Parameters {
		i := slices.Index(st.Names, v.Name)
		if i < 0 {
			continue
		}
		if values[i] = v.Value; v.Value == "" {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "there is no value for :"+v.Name,
				pgerr.Hint("It stands in the field below the editor. Text needs no quotes there."))
		}
	}
	return values, nil
}
