package sqltree

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"unicode/utf8"

	pg_query "github.com/pganalyze/pg_query_go/v6"
	"github.com/pganalyze/pg_query_go/v6/parser"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/refusal"
)

const (
	// maxNesting bounds open parentheses, brackets and CASEs. PostgreSQL's deparser overflows its stack at 1,500 nested
	// "SELECT (", which recover() does not see; people write fewer than 20.
	maxNesting = 128
	// maxChain bounds the tokens that deepen a tree without parentheses (a+a+a…, UNION, ::, NOT). The C parser dies at
	// 20,000 levels on an 8 MiB stack; protobuf refuses more than 10,000.
	maxChain = 1500
	// maxTokens bounds the time of a parse: 40 KB of hostile text take 0.4 s.
	maxTokens = 12000
)

// parsing limits the C parser to as many threads as there are processors.
var parsing = make(chan struct{}, runtime.GOMAXPROCS(0))

// Parse splits and parses a text of at most maxBytes bytes. Empty and comment-only texts give no statement. Errors
// carry PostgreSQL's code and position: 42601 syntax, 54000 too large, 54001 too deep, 22021 invalid UTF-8 or NUL.
func Parse(sql string, maxBytes int) ([]*Statement, error) {
	if err := guardText(sql, maxBytes); err != nil {
		return nil, err
	}
	parsing <- struct{}{}
	defer func() { <-parsing }()
	if err := guardTokens(sql); err != nil {
		return nil, err
	}
	tree, err := pg_query.Parse(sql)
	if err != nil {
		return nil, syntaxError(err)
	}
	return split(sql, tree)
}

// split gives every statement its own text, and node locations that count from its start.
func split(sql string, tree *pg_query.ParseResult) ([]*Statement, error) {
	if len(tree.Stmts) == 1 && tree.Stmts[0].StmtLocation == 0 {
		text := sql
		if n := tree.Stmts[0].StmtLen; n > 0 {
			text = sql[:n]
		}
		return []*Statement{{SQL: text, Node: tree.Stmts[0].Stmt}}, nil
	}
	statements := make([]*Statement, 0, len(tree.Stmts))
	for _, s := range tree.Stmts {
		end := len(sql)
		if s.StmtLen > 0 {
			end = int(s.StmtLocation + s.StmtLen)
		}
		text := sql[s.StmtLocation:end]
		own, err := pg_query.Parse(text)
		if err != nil {
			return nil, syntaxError(err)
		}
		if len(own.Stmts) != 1 {
			return nil, pgerr.New(pgerr.SyntaxError, "statement could not be split")
		}
		statements = append(statements, &Statement{
			SQL: text, Offset: utf8.RuneCountInString(sql[:s.StmtLocation]), Node: own.Stmts[0].Stmt,
		})
	}
	return statements, nil
}

func guardText(sql string, maxBytes int) error {
	if len(sql) > maxBytes {
		return refusal.New(refusal.TooLong, fmt.Sprintf("statement of %d bytes exceeds the limit of %d", len(sql), maxBytes),
			pgerr.Hint("Send less text, or ask the administrator to raise limits.sql_bytes."))
	}
	if !utf8.ValidString(sql) {
		return pgerr.New(pgerr.CharacterNotInRepertoire, `invalid byte sequence for encoding "UTF8"`)
	}
	if strings.IndexByte(sql, 0) >= 0 {
		return pgerr.New(pgerr.CharacterNotInRepertoire, `invalid byte sequence for encoding "UTF8": 0x00`)
	}
	return guardComments(sql)
}

// maxComments bounds the comments that may be open at once. The lexer takes the square of their number.
const maxComments = 64

// guardComments refuses comments that are nested too deep, before the lexer reads them. It counts what stands in
// literals, too: nobody writes that much there.
func guardComments(sql string) error {
	open := 0
	for i := 0; i+1 < len(sql); i++ {
		switch sql[i : i+2] {
		case "/*":
			open++
			i++
		case "*/":
			open = max(0, open-1)
			i++
		}
		if open > maxComments {
			return TooComplex(fmt.Sprintf("comments nested more than %d levels deep", maxComments))
		}
	}
	return nil
}

// guardTokens refuses what would overflow the C parser's stack, by a flat scan.
func guardTokens(sql string) error {
	scan, err := pg_query.Scan(sql)
	if err != nil {
		return syntaxError(err)
	}
	if len(scan.Tokens) > maxTokens {
		return TooComplex(fmt.Sprintf("more than %d tokens", maxTokens))
	}
	depth, chain := 0, 0
	for _, t := range scan.Tokens {
		switch t.Token {
		case pg_query.Token_ASCII_40, pg_query.Token_ASCII_91, pg_query.Token_CASE:
			depth++
		case pg_query.Token_ASCII_41, pg_query.Token_ASCII_93, pg_query.Token_END_P:
			depth--
		case pg_query.Token_ASCII_59:
			chain = 0
		case pg_query.Token_ASCII_44, pg_query.Token_IDENT, pg_query.Token_ICONST, pg_query.Token_FCONST,
			pg_query.Token_SCONST, pg_query.Token_PARAM:
		default:
			if t.KeywordKind == pg_query.KeywordKind_NO_KEYWORD || deepens(t.Token) {
				chain++
			}
		}
		if depth > maxNesting {
			return TooComplex(fmt.Sprintf("nested more than %d levels deep", maxNesting))
		}
		if chain > maxChain {
			return TooComplex(fmt.Sprintf("more than %d operators", maxChain))
		}
	}
	return nil
}

// deepens names the keywords that nest without a parenthesis.
func deepens(t pg_query.Token) bool {
	switch t {
	case pg_query.Token_NOT, pg_query.Token_NOT_LA, pg_query.Token_UNION, pg_query.Token_EXCEPT, pg_query.Token_INTERSECT,
		pg_query.Token_JOIN,
		pg_query.Token_COLLATE, pg_query.Token_IS, pg_query.Token_ISNULL, pg_query.Token_NOTNULL, pg_query.Token_AT,
		pg_query.Token_LIKE,
		pg_query.Token_ILIKE, pg_query.Token_BETWEEN, pg_query.Token_IN_P, pg_query.Token_SELECT, pg_query.Token_EXPLAIN,
		pg_query.Token_ESCAPE,
		pg_query.Token_SIMILAR, pg_query.Token_AND, pg_query.Token_OR:
		return true
	}
	return false
}

// TooComplex refuses a statement beyond the limits of parsing and planning.
func TooComplex(what string) error {
	return refusal.New(refusal.TooComplex, "statement is too complex: "+what, pgerr.Hint("Split the query."))
}

// syntaxError gives the parser's error PostgreSQL's shape.
func syntaxError(err error) error {
	var e *parser.Error
	if !errors.As(err, &e) {
		return TooComplex("the parser gave up")
	}
	if strings.Contains(e.Message, "stack depth") || strings.Contains(e.Message, "memory exhausted") {
		return TooComplex("nested too deeply")
	}
	return pgerr.New(pgerr.SyntaxError, e.Message, pgerr.At(e.Cursorpos))
}

// Statement is one statement of a text, syntax-checked and within all limits.
type Statement struct {
	SQL    string // its own text, without the semicolon
	Offset int    // characters before SQL in the client's text
	Node   *pg_query.Node
}
