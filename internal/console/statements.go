package console

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/ledger/stores/saved"
	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// mostStatements bounds those of a question, mostSets the settings before one: more are statements, which are refused.
const mostStatements, mostSets = 12, 20

// statement is one of a question, as the wire takes it.
type statement struct {
	boundText
	Name string   // what stands above its answer; empty: the question has no other
	Sets []string // the settings that stand before it
	from int      // characters of the question before it
}

// statementsOf splits a question at its semicolons, up to one statement more than it may have. Each SET holds for those
// behind it, up to RESET ALL. The wire prepares each statement by itself, and refuses what is not one.
func statementsOf(sql string) (list []statement) {
	var sets []string
	var title string
	for begin := 0; begin < len(sql) && len(list) <= mostStatements; {
		end := begin
		for end < len(sql) && sql[end] != ';' {
			end += max(skipped(sql[end:]), 1)
		}
		before := begin + blank(sql[begin:end])
		text := strings.TrimSpace(sql[before:end])
		title = cmp.Or(titleOf(sql[begin:before]), title)
		switch word := strings.ToUpper(text[:wordAt(text)]); {
		case text == "":
		case word == "RESET" && strings.EqualFold(strings.Join(strings.Fields(text), " "), "RESET ALL"):
			sets = nil
		case (word == "SET" || word == "RESET") && len(sets) < mostSets:
			sets = append(sets, text)
		default:
			list = append(list, statement{
				bindNames(text), shortened(cmp.Or(title, text)), slices.Clone(sets), utf8.RuneCountInString(sql[:before]),
			})
			title = ""
		}
		begin = end + 1
	}
	if len(list) == 1 {
		list[0].Name = ""
	}
	if list == nil {
		list = []statement{{boundText: bindNames(sql)}} // which the wire refuses
	}
	return list
}

// blank is how many bytes at the beginning of a text are comments and blanks.
func blank(s string) int {
	rest := strings.TrimLeftFunc(s, unicode.IsSpace)
	for strings.HasPrefix(rest, "--") || strings.HasPrefix(rest, "/*") {
		rest = strings.TrimLeftFunc(rest[skipped(rest):], unicode.IsSpace)
	}
	return len(s) - len(rest)
}

// titleOf is the last line of what stands before a statement, if that is a comment --.
func titleOf(before string) string {
	lines := strings.Split(strings.TrimSpace(before), "\n")
	title, ok := strings.CutPrefix(strings.TrimSpace(lines[len(lines)-1]), "--")
	if !ok {
		return ""
	}
	return strings.TrimSpace(title)
}

// shownName is how much of a comment, or of the statement where it has none, is its name, in characters.
const shownName = saved.MaxName

func shortened(text string) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > shownName {
		return string(runes[:shownName]) + "…"
	}
	return string(runes)
}

// errStatements refuses a question of too many.
var errStatements = pgerr.New(pgerr.ProgramLimitExceeded,
	"a question has "+strconv.Itoa(mostStatements)+" statements at most", pgerr.Hint("Ask the others in another one."))

// priceOf is what is offered for a statement: with all others that have no parameters as its workload.
func (p askPage) priceOf(st statement) price {
	at := p.Price
	at.Sets = st.Sets
	if len(p.statements) == 1 {
		return at
	}
	var texts []string
	for _, other := range p.statements {
		if len(other.Names) == 0 {
			texts = append(texts, other.SQL)
		}
	}
	at.Workload = strings.Join(texts, "\n;\n") // behind a comment, too
	return at
}

// question asks one statement of the page.
func (p askPage) question(ctx context.Context, c *client, st statement, left *room) (*answer, error) {
	values, err := p.values(st)
	if err != nil {
		return nil, err
	}
	return c.question(ctx, p.priceOf(st), st.SQL, left, values...)
}

// askAll asks the statements of the page, one after the other: each is answered, or refused, by itself, unless one is
// no SQL. They share the room of a page.
func (p askPage) askAll(w http.ResponseWriter, r *http.Request, x *session) (list []*outcome) {
	if len(p.statements) > mostStatements {
		return []*outcome{p.outcomeOf(nil, errStatements, p.statements[0])}
	}
	if wrong, err := p.describe(r.Context(), x.client); err != nil {
		return []*outcome{p.outcomeOf(nil, err, wrong)}
	}
	// A question takes as long as main takes; the page has its time-outs back afterwards.
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{})
	_ = control.SetWriteDeadline(time.Time{})
	answers := make([]*answer, len(p.statements))
	defer func() {
		for _, a := range answers {
			a.release()
		}
	}()
	left := allRoom()
	for i, st := range p.statements {
		a, err := p.question(r.Context(), x.client, st, left)
		if a != nil {
			a.Name = st.Name
		}
		answers[i] = a
		list = append(list, p.outcomeOf(answers[i], err, st))
	}
	_ = control.SetWriteDeadline(time.Now().Add(writeTimeout))
	for i, id := range x.keep(answers) {
		list[i].ID = id
	}
	return list
}

// dryAll asks what all statements would take of the budget.
func (p askPage) dryAll(ctx context.Context, c *client, d *dryRun) {
	var err error
	if len(p.statements) > mostStatements {
		err = errStatements
	}
	refused := p.statements[0]
	for _, st := range p.statements {
		if err != nil {
			break
		}
		var plan explanation
		refused = st
		if plan, _, err = p.explain(ctx, c, p.priceOf(st), st); err == nil && d.All == "" {
			d.All = plan.Workload
		}
	}
	d.Free = d.All == ""
	if err != nil {
		d.Refused = p.refused(err, refused, utf8.RuneCountInString(explainPrefix))
	}
}

// refused is explained, with the name of a statement that is not the only one.
func (p askPage) refused(err error, st statement, offset int) *refusal {
	e := p.explained(err, st, offset)
	if st.Name != "" {
		e.Message = "“" + st.Name + "”: " + e.Message
	}
	return &e
}

// ended is a statement with its end, which no comment takes in.
func ended(sql, end string) string {
	if strings.Contains(sql[strings.LastIndexAny(sql, "\r\n")+1:], "--") { // the last line may be a comment
		sql += "\n"
	}
	return sql + end
}

// dashboard is a question of those that an analyst has chosen of their saved ones: a comment names each, and none has
// the settings of another.
func (c *Console) dashboard(r *http.Request, x *session, ids []string) (string, error) {
	hold := accountOf(r).Hold()
	defer hold.Free()
	if err := hold.Grow(pageCopies * saved.MaxBytes); err != nil {
		return "", err
	}
	list, err := c.config.Saved.List(r.Context(), x.owner())
	if err != nil {
		return "", err
	}
	var texts []string
	for _, q := range list {
		if !slices.Contains(ids, q.ID) {
			continue
		}
		text := "-- " + strings.Join(strings.Fields(q.Name), " ") + "\n" + ended(strings.TrimRight(q.SQL, "; \n\t"), ";")
		if slices.ContainsFunc(statementsOf(q.SQL), func(st statement) bool { return st.Sets != nil }) {
			text += "\nRESET ALL;"
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "\n\n"), nil
}

// explained says of an error of one of its statements what the client may know. Errors of the wire are made for it;
// others are not shown. offset is how many characters stood before the statement.
func (p askPage) explained(err error, st statement, offset int) refusal {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return refusal{
			Message: "The proxy gave no answer that can be shown here.",
			Hint:    "Load the page again, and log in if it asks you to.",
		}
	}
	r := refusal{Code: e.Code, Message: e.Message, Detail: e.Detail, Hint: e.Hint, Help: helpOf(e.Hint)}
	if at := int(e.Position) - offset; at > 0 {
		at = st.from + st.own(at)
		r.Near, r.Position = near(p.SQL, at), at
	}
	return r
}
