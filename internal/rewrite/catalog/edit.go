package catalog

import (
	"sort"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/refusal"
)

// editor changes a text by token. Every change is made to the tree as well; finish compares the two.
type editor struct {
	text   string
	tokens []*pg_query.ScanToken // without comments
	at     map[int]int           // byte offset → index of the token that starts there
	edits  []edit
}

// edit replaces text[start:end]; start == end inserts.
type edit struct {
	start, end int
	text       string
}

func newEditor(text string) (*editor, error) {
	scan, err := pg_query.Scan(text)
	if err != nil {
		return nil, pgerr.New(pgerr.SyntaxError, err.Error())
	}
	e := &editor{text: text, at: make(map[int]int, len(scan.Tokens))}
	for _, t := range scan.Tokens {
		if t.Token == pg_query.Token_SQL_COMMENT || t.Token == pg_query.Token_C_COMMENT {
			continue
		}
		e.at[int(t.Start)] = len(e.tokens)
		e.tokens = append(e.tokens, t)
	}
	return e, nil
}

// names finds the tokens of a dotted name that starts at offset, and its span. ok is false when the tokens there do not
// spell that name, as with Unicode escapes.
func (e *editor) names(offset int, want []string) (start, end int, ok bool) {
	i, found := e.at[offset]
	if !found {
		return 0, 0, false
	}
	for k, w := range want {
		if k > 0 {
			if i >= len(e.tokens) || e.tokens[i].Token != pg_query.Token_ASCII_46 {
				return 0, 0, false
			}
			i++
		}
		if i >= len(e.tokens) || identifier(e.textOf(i)) != w {
			return 0, 0, false
		}
		end = int(e.tokens[i].End)
		i++
	}
	return offset, end, true
}

// startOf finds where the part of a dotted name begins that follows n others.
func (e *editor) startOf(offset, n int) int { return int(e.tokens[e.at[offset]+2*n].Start) }

// dots counts the dots of the dotted name that starts at offset.
func (e *editor) dots(offset int) int {
	n := 0
	for i := e.at[offset] + 1; i < len(e.tokens)-1 && e.tokens[i].Token == pg_query.Token_ASCII_46; i += 2 {
		n++
	}
	return n
}

// call finds the span of a function call whose name starts at offset: up to its closing parenthesis.
func (e *editor) call(offset int, name []string) (start, end int, ok bool) {
	_, last, ok := e.parentheses(offset, name)
	if !ok {
		return 0, 0, false
	}
	return offset, int(e.tokens[last].End), true
}

// argument finds the span of a call's first argument.
func (e *editor) argument(offset int, name []string) (start, end int, ok bool) {
	first, last, ok := e.parentheses(offset, name)
	if !ok || last == first+1 {
		return 0, 0, false
	}
	depth := 0
	for i := first + 1; i < last; i++ {
		switch e.tokens[i].Token {
		case pg_query.Token_ASCII_40, pg_query.Token_ASCII_91:
			depth++
		case pg_query.Token_ASCII_41, pg_query.Token_ASCII_93:
			depth--
		case pg_query.Token_ASCII_44:
			if depth == 0 {
				last = i
			}
		}
	}
	return int(e.tokens[first+1].Start), int(e.tokens[last-1].End), true
}

// parentheses finds the tokens that open and close a call's arguments.
func (e *editor) parentheses(offset int, name []string) (first, last int, ok bool) {
	_, end, ok := e.names(offset, name)
	if !ok {
		return 0, 0, false
	}
	first = sort.Search(len(e.tokens), func(i int) bool { return int(e.tokens[i].Start) >= end })
	if first >= len(e.tokens) || e.tokens[first].Token != pg_query.Token_ASCII_40 {
		return 0, 0, false
	}
	depth := 0
	for i := first; i < len(e.tokens); i++ {
		switch e.tokens[i].Token {
		case pg_query.Token_ASCII_40:
			depth++
		case pg_query.Token_ASCII_41:
			if depth--; depth == 0 {
				return first, i, true
			}
		}
	}
	return 0, 0, false
}

// parenthesesBefore finds the span of the parentheses that close right in front of the token at offset.
func (e *editor) parenthesesBefore(offset int) (start, end int, ok bool) {
	last, ok := e.at[offset]
	if !ok || last == 0 || e.tokens[last-1].Token != pg_query.Token_ASCII_41 {
		return 0, 0, false
	}
	depth := 0
	for i := last - 1; i >= 0; i-- {
		switch e.tokens[i].Token {
		case pg_query.Token_ASCII_41:
			depth++
		case pg_query.Token_ASCII_40:
			if depth--; depth == 0 {
				if i > 0 && opensCall(e.tokens[i-1]) {
					return 0, 0, false
				}
				return int(e.tokens[i].Start), int(e.tokens[last-1].End), true
			}
		}
	}
	return 0, 0, false
}

// opensCall says whether a parenthesis behind the token may hold arguments, not an expression.
func opensCall(t *pg_query.ScanToken) bool {
	return t.Token == pg_query.Token_IDENT || t.KeywordKind == pg_query.KeywordKind_UNRESERVED_KEYWORD ||
		t.KeywordKind == pg_query.KeywordKind_COL_NAME_KEYWORD || t.KeywordKind == pg_query.KeywordKind_TYPE_FUNC_NAME_KEYWORD
}

// word finds the span of the single token at offset.
func (e *editor) word(offset int) (start, end int, ok bool) {
	i, ok := e.at[offset]
	if !ok {
		return 0, 0, false
	}
	return offset, int(e.tokens[i].End), true
}

// before returns the token in front of offset; nil at the start.
func (e *editor) before(offset int) *pg_query.ScanToken {
	i, ok := e.at[offset]
	if !ok || i == 0 {
		return nil
	}
	return e.tokens[i-1]
}

func (e *editor) textOf(i int) string { return e.text[e.tokens[i].Start:e.tokens[i].End] }

func (e *editor) replace(start, end int, text string) {
	e.edits = append(e.edits, edit{start, end, text})
}

// finish applies the edits and proves that the new text means the edited tree.
func (e *editor) finish(tree *pg_query.Node) (string, error) {
	if len(e.edits) == 0 {
		return e.text, nil
	}
	sql := e.apply()
	got, err := pg_query.Parse(sql)
	if err != nil || len(got.Stmts) != 1 {
		return "", errNotEditable()
	}
	strip(tree.ProtoReflect())
	strip(got.Stmts[0].Stmt.ProtoReflect())
	if !proto.Equal(tree, got.Stmts[0].Stmt) {
		return "", errNotEditable()
	}
	return sql, nil
}

// apply prints the text with its edits; an edit inside the span of a larger one is void.
func (e *editor) apply() string {
	sort.SliceStable(e.edits, func(i, j int) bool {
		a, b := e.edits[i], e.edits[j]
		if a.start != b.start {
			return a.start < b.start
		}
		return a.end > b.end
	})
	var b strings.Builder
	pos := 0
	for _, x := range e.edits {
		if x.start < pos {
			continue
		}
		b.WriteString(e.text[pos:x.start])
		b.WriteString(x.text)
		pos = x.end
	}
	b.WriteString(e.text[pos:])
	return b.String()
}

// errNotEditable refuses a spelling that the editor does not follow: it never guesses.
func errNotEditable() error {
	return refusal.New(refusal.CatalogForm, "this spelling of a catalog query is not supported",
		pgerr.Hint("Write relation and function names plainly (schema.name), without Unicode escapes, ONLY, or an asterisk after the name."))
}

// strip clears the locations of a tree, so that two trees of one meaning compare equal.
func strip(m protoreflect.Message) {
	if f := m.Descriptor().Fields().ByName("location"); f != nil {
		m.Clear(f)
	}
	below(m, strip)
}

// parseFrom parses what may stand in FROM, and returns its node.
func parseFrom(text string) (*pg_query.Node, error) {
	r, err := pg_query.Parse("SELECT FROM " + text)
	if err != nil {
		return nil, errNotEditable()
	}
	from := r.Stmts[0].Stmt.GetSelectStmt().GetFromClause()
	if len(from) != 1 {
		return nil, errNotEditable()
	}
	return from[0], nil
}

// parseExpr parses an expression, and returns its node.
func parseExpr(text string) (*pg_query.Node, error) {
	r, err := pg_query.Parse("SELECT " + text)
	if err != nil {
		return nil, errNotEditable()
	}
	targets := r.Stmts[0].Stmt.GetSelectStmt().GetTargetList()
	if len(targets) != 1 {
		return nil, errNotEditable()
	}
	return targets[0].GetResTarget().GetVal(), nil
}
