package command

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/clientencoding"
	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// Copy is COPY … TO STDOUT. SQL is the query inside, or one for the rows of a table; Offset counts the characters
// before it, and is Elsewhere where the client's text has no such query.
type Copy struct {
	SQL    string
	Offset int
	CopyOptions
}

// CopyFormat is the form of the rows that COPY sends.
type CopyFormat int

// The formats of COPY.
const (
	CopyText CopyFormat = iota
	CopyCSV
	CopyBinary
)

// CopyOptions are the options of COPY … TO, with PostgreSQL's defaults filled in.
type CopyOptions struct {
	Format                   CopyFormat
	Delimiter, Quote, Escape byte
	Null                     string
	Header                   bool
	ForceQuote               []string
	ForceQuoteAll            bool
	Encoding                 string // canonical; empty: client_encoding
}

func (Copy) command() {}

// Elsewhere is the offset of a query that is not in the text of the message: that came with an earlier one, in PREPARE
// or DECLARE, or there is none.
const Elsewhere = -1

// copyTo reads COPY … TO STDOUT, and refuses every other COPY.
func copyTo(c *pg_query.CopyStmt, sql string) Command {
	switch {
	case c.IsFrom:
		return denied("COPY", readOnlyHint)
	case c.IsProgram || c.Filename != "":
		return denied(
			"COPY", "COPY (SELECT …) TO STDOUT sends the rows to the client, and psql's \\copy writes them into a file.")
	}
	inner, offset, ok := allRows(c), Elsewhere, true
	if c.Query != nil {
		inner, offset, ok = parenthesized(sql)
	}
	if !ok {
		return Refused{pgerr.New(pgerr.SyntaxError, "COPY without its query")}
	}
	reader := copyReader{given: map[string]bool{}}
	for _, n := range c.Options {
		reader.option(n.GetDefElem(), sql)
	}
	reader.complete()
	if reader.err != nil {
		return *reader.err
	}
	return Copy{SQL: inner, Offset: offset, CopyOptions: reader.options}
}

// allRows is a query for what COPY of a table sends.
func allRows(c *pg_query.CopyStmt) string {
	var names []string
	for _, n := range c.Attlist {
		names = append(names, pgx.Identifier{n.GetString_().GetSval()}.Sanitize())
	}
	r := c.Relation // nil, and not read, of a query
	table := slices.DeleteFunc(pgx.Identifier{r.GetCatalogname(), r.GetSchemaname(), r.GetRelname()},
		func(part string) bool { return part == "" })
	return "SELECT " + cmp.Or(strings.Join(names, ", "), "*") + " FROM " + table.Sanitize()
}

// parenthesized returns what the first parentheses of a statement hold, and the number of characters before it.
func parenthesized(sql string) (inner string, offset int, ok bool) {
	scan, err := pg_query.Scan(sql)
	if err != nil {
		return "", 0, false
	}
	depth, start := 0, 0
	for _, t := range scan.Tokens {
		switch t.Token {
		case pg_query.Token_ASCII_40:
			if depth == 0 {
				start = int(t.End)
			}
			depth++
		case pg_query.Token_ASCII_41:
			if depth--; depth == 0 {
				inner = strings.TrimLeft(sql[start:t.Start], " \t\r\n\f\v")
				return inner, utf8.RuneCountInString(sql[:int(t.Start)-len(inner)]), true
			}
		}
	}
	return "", 0, false
}

// copyReader reads the options of COPY as PostgreSQL's ProcessCopyOptions does, up to the first error.
type copyReader struct {
	options CopyOptions
	given   map[string]bool
	err     *Refused
}

func (r *copyReader) fail(code, message string, more ...pgerr.Option) {
	if r.err == nil {
		r.err = &Refused{pgerr.New(code, message, more...)}
	}
}

func (r *copyReader) option(d *pg_query.DefElem, sql string) {
	name := d.GetDefname()
	at := pgerr.At(utf8.RuneCountInString(sql[:max(0, min(int(d.GetLocation()), len(sql)))]) + 1)
	if r.given[name] {
		r.fail(pgerr.SyntaxError, "conflicting or redundant options", at)
		return
	}
	r.given[name] = true
	text, isText := optionText(d.GetArg())
	o := &r.options
	switch name {
	case "format":
		format, known := map[string]CopyFormat{"text": CopyText, "csv": CopyCSV, "binary": CopyBinary}[text]
		if !known {
			r.fail(pgerr.InvalidParameterValue, `COPY format "`+text+`" not recognized`, at)
		}
		o.Format = format
	case "header":
		o.Header = r.boolean(name, d.GetArg())
	case "freeze":
		if r.boolean(name, d.GetArg()) {
			r.fail(pgerr.FeatureNotSupported, "COPY freeze only available using COPY FROM")
		}
	case "delimiter", "quote", "escape":
		if !isText || len(text) != 1 {
			r.fail(pgerr.FeatureNotSupported, "COPY "+name+" must be a single one-byte character")
			return
		}
		*map[string]*byte{"delimiter": &o.Delimiter, "quote": &o.Quote, "escape": &o.Escape}[name] = text[0]
	case "null":
		o.Null = text
	case "encoding":
		canonical, known := clientencoding.Name(text)
		if !known {
			r.fail(pgerr.InvalidParameterValue, `argument to option "encoding" must be a valid encoding name`, at)
		}
		o.Encoding = canonical
	case "force_quote":
		r.forceQuote(d, at)
	case "force_not_null", "force_null":
		r.fail(pgerr.FeatureNotSupported, "COPY "+strings.ReplaceAll(name, "_", " ")+" only available using COPY FROM")
	default:
		r.fail(pgerr.SyntaxError, `option "`+name+`" not recognized`, at)
	}
}

// optionText is the value of an option as PostgreSQL's defGetString reads it.
func optionText(n *pg_query.Node) (string, bool) {
	switch v := n.GetNode().(type) {
	case *pg_query.Node_String_:
		return v.String_.Sval, true
	case *pg_query.Node_TypeName: // a word that is a type's name too, such as text
		names := v.TypeName.GetNames()
		if len(names) > 0 {
			return names[len(names)-1].GetString_().GetSval(), true
		}
	}
	return "", false
}

// boolean reads an option as PostgreSQL's defGetBoolean does.
func (r *copyReader) boolean(name string, n *pg_query.Node) bool {
	switch v := n.GetNode().(type) {
	case nil:
		return true
	case *pg_query.Node_Boolean:
		return v.Boolean.Boolval
	case *pg_query.Node_Integer:
		if v.Integer.Ival == 0 || v.Integer.Ival == 1 {
			return v.Integer.Ival == 1
		}
	case *pg_query.Node_String_:
		switch strings.ToLower(v.String_.Sval) {
		case "true", "on":
			return true
		case "false", "off":
			return false
		case "match":
			if name == "header" {
				r.fail(pgerr.FeatureNotSupported, `cannot use "match" with HEADER in COPY TO`)
				return false
			}
		}
	}
	message := name + " requires a Boolean value"
	if name == "header" {
		message += ` or "match"`
	}
	r.fail(pgerr.SyntaxError, message)
	return false
}

func (r *copyReader) forceQuote(d *pg_query.DefElem, at pgerr.Option) {
	switch v := d.GetArg().GetNode().(type) {
	case *pg_query.Node_AStar:
		r.options.ForceQuoteAll = true
	case *pg_query.Node_List:
		for _, n := range v.List.Items {
			r.options.ForceQuote = append(r.options.ForceQuote, n.GetString_().GetSval())
		}
	default:
		r.fail(pgerr.InvalidParameterValue, `argument to option "force_quote" must be a list of column names`, at)
	}
}

// complete fills in the defaults and refuses what does not go together.
func (r *copyReader) complete() {
	o := &r.options
	csv := o.Format == CopyCSV
	if o.Format == CopyBinary {
		for _, name := range []string{"delimiter", "null", "header"} {
			if r.given[name] {
				r.fail(pgerr.SyntaxError, "cannot specify "+strings.ToUpper(name)+" in BINARY mode")
			}
		}
	}
	if !csv {
		for _, name := range []string{"quote", "escape", "force_quote"} {
			if r.given[name] {
				r.fail(pgerr.FeatureNotSupported, "COPY "+strings.ReplaceAll(name, "_", " ")+" available only in CSV mode")
			}
		}
	}
	if !r.given["delimiter"] {
		o.Delimiter = map[bool]byte{false: '\t', true: ','}[csv]
	}
	if !r.given["quote"] {
		o.Quote = '"'
	}
	if !r.given["escape"] {
		o.Escape = o.Quote
	}
	if !r.given["null"] {
		o.Null = map[bool]string{false: `\N`, true: ""}[csv]
	}
	r.together(csv)
}

func (r *copyReader) together(csv bool) {
	o := r.options
	switch {
	case o.Delimiter == '\r' || o.Delimiter == '\n':
		r.fail(pgerr.InvalidParameterValue, "COPY delimiter cannot be newline or carriage return")
	case strings.ContainsAny(o.Null, "\r\n"):
		r.fail(pgerr.InvalidParameterValue, "COPY null representation cannot use newline or carriage return")
	case !csv && strings.IndexByte(`\.abcdefghijklmnopqrstuvwxyz0123456789`, o.Delimiter) >= 0:
		r.fail(pgerr.InvalidParameterValue, `COPY delimiter cannot be "`+string(o.Delimiter)+`"`)
	case csv && o.Delimiter == o.Quote:
		r.fail(pgerr.InvalidParameterValue, "COPY delimiter and quote must be different")
	case strings.IndexByte(o.Null, o.Delimiter) >= 0:
		r.fail(pgerr.FeatureNotSupported, "COPY delimiter must not appear in the NULL specification")
	case csv && strings.IndexByte(o.Null, o.Quote) >= 0:
		r.fail(pgerr.FeatureNotSupported, "CSV quote character must not appear in the NULL specification")
	}
}
