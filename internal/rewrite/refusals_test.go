package rewrite_test

import (
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/command"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// withoutStatements are the reasons that no statement over the test's tables leads to: they say what a database or a
// policy is like, or need a statement too long for a page.
var withoutStatements = map[refusal.Reason]bool{
	refusal.TooComplex: true, refusal.Database: true, refusal.EqualValues: true, refusal.NoMechanism: true,
	refusal.SmallGroups:  true,
	refusal.NotCertified: true, refusal.NoSyntheticRows: true,
}

// section is one of docs/refusals.md: a statement that is refused, and one that is answered instead.
type section struct {
	heading       string
	before, after pageStatement
}

type pageStatement struct{ sql, params string }

var pageSQL = regexp.MustCompile("(?s)```sql\n-- (before|after)(?:: \\$1 = ([^\n]*))?\n(.*?)\n```")

func readRefusals(t *testing.T) []section {
	text, err := os.ReadFile("../../docs/refusals.md")
	if err != nil {
		t.Fatal(err)
	}
	var list []section
	for _, part := range strings.Split(string(text), "\n### ")[1:] {
		s := section{}
		s.heading, part, _ = strings.Cut(part, "\n")
		for _, m := range pageSQL.FindAllStringSubmatch(part, -1) {
			st := pageStatement{m[3], m[2]}
			if m[1] == "before" {
				s.before = st
			} else {
				s.after = st
			}
		}
		list = append(list, s)
	}
	return list
}

// TestRefusalsPage holds docs/refusals.md to the reasons: a section for each, in their order, whose first statement is
// refused for that very reason, and whose second is answered as PostgreSQL answers it.
func TestRefusalsPage(t *testing.T) {
	if err := theWorld.fill(rand.New(rand.NewPCG(3, 4)), oraclePatients); err != nil {
		t.Fatal(err)
	}
	if err := theWorld.dropUnitless(); err != nil {
		t.Fatal(err)
	}
	wide := theWorld.withGroups(1 << 20)
	sections, reasons := readRefusals(t), refusal.All()
	if len(sections) != len(reasons) {
		t.Errorf("%d sections for %d reasons", len(sections), len(reasons))
	}
	for i := range min(len(sections), len(reasons)) {
		s, reason := sections[i], reasons[i]
		if anchor := strings.ReplaceAll(strings.ToLower(s.heading), " ", "-"); anchor != reason.Anchor() {
			t.Fatalf("section %q stands where reason %s belongs", s.heading, reason.Anchor())
		}
		if stated := s.before.sql != "" && s.after.sql != ""; stated == withoutStatements[reason] {
			t.Errorf("%s: a section has both statements, or is listed as one without", reason.Anchor())
			continue
		}
		if s.before.sql == "" {
			continue
		}
		t.Run(reason.Anchor(), func(t *testing.T) {
			if verdict := wide.refusedAs(s.before); !strings.Contains(verdict, "refused "+reason.Code()) ||
				!strings.HasSuffix(verdict, reason.Help()+"\n") {
				t.Errorf("before: %s\n%s", s.before.sql, verdict)
			}
			if d := wide.answeredAs(s.after); d != "" {
				t.Errorf("after: %s\n%s", s.after.sql, d)
			}
		})
	}
}

// refusedAs is what a client is told of a statement, whether it is a question or not.
func (w *world) refusedAs(s pageStatement) string {
	if style, rest, ok := strings.Cut(strings.TrimPrefix(s.sql, "SET DateStyle = '"), "';\n"); ok {
		session := w.session
		session.DateStyle = style
		return w.as(session).refusedAs(pageStatement{rest, s.params})
	}
	parsed, err := rewrite.Parse(s.sql, 32768)
	if err != nil {
		return refusalText(err)
	}
	if c, ok := command.Of(parsed[0].Node, s.sql); ok {
		if r, refused := c.(command.Refused); refused {
			return refusalText(r.Err)
		}
	}
	return w.verdict(s.sql, parameters(s.params), false)
}

// answeredAs says how an answer differs from PostgreSQL's.
func (w *world) answeredAs(s pageStatement) string {
	asked, err := w.ask(s.sql, parameters(s.params))
	if err != nil {
		return refusalText(err)
	}
	if asked.plan == nil || asked.sql != s.sql {
		return "" // another database's own answer, or EXPLAIN's
	}
	got, err := w.finish(asked)
	if err != nil {
		return err.Error()
	}
	return w.compare(&answer{corpusQuery{sql: s.sql}, asked, got})
}
