package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// tally counts verdicts.
type tally [unlike + 1]int

func (t tally) questions() int { return t[same] + t[other] + t[necessary] + t[gap] + t[unlike] }

// answered is the share of the answerable questions that are answered; faithful the share of those with PostgreSQL's
// rows.
func (t tally) answered() float64 { return ratio(t[same]+t[other], t[same]+t[other]+t[gap]) }
func (t tally) faithful() float64 { return ratio(t[same], t[same]+t[other]) }

func ratio(a, b int) float64 {
	if b == 0 {
		return 1
	}
	return float64(a) / float64(b)
}

func count(results []result) (t tally) {
	for _, r := range results {
		t[r.verdict]++
	}
	return t
}

// table is the counts by intent as Markdown.
func table(results []result) string {
	var b strings.Builder
	b.WriteString(
		"| intent | questions | PostgreSQL's rows | other rows | refused, as it must be | refused | on the twin |\n|---|---|---|---|---|---|---|\n")
	line := func(name string, list []result) {
		t, byTwin := count(list), only(list, func(r result) bool { return r.twin == "" })
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d | %d |\n", name, len(list), t[same], t[other], t[necessary],
			t[gap]+t[unlike], len(byTwin))
	}
	var intents []string
	for _, r := range results {
		if !slices.Contains(intents, r.intent) {
			intents = append(intents, r.intent)
		}
	}
	for _, i := range intents {
		line(i, only(results, func(r result) bool { return r.intent == i }))
	}
	line("**all**", results)
	all := count(results)
	fmt.Fprintf(&b, "\nOf the questions that can be answered %.1f %% are, and %.1f %% of those with PostgreSQL's rows.\n",
		100*all.answered(), 100*all.faithful())
	return b.String()
}

func only(results []result, keep func(result) bool) []result {
	return slices.DeleteFunc(slices.Clone(results), func(r result) bool { return !keep(r) })
}

// details lists what is not answered as PostgreSQL answers it.
func details(results []result) string {
	var b strings.Builder
	for _, v := range []struct {
		verdict verdict
		heading string
	}{{unlike, "ANSWERED, LISTED AS REFUSED"}, {other, "OTHER ROWS"}, {gap, "REFUSED"}} {
		for _, r := range results {
			if r.verdict == v.verdict {
				fmt.Fprintf(&b, "%s: %s, %s: %s\n%s\n  %s\n\n", v.heading, r.world, r.intent, r.asked, r.sql,
					strings.ReplaceAll(r.detail, "\n", "\n  "))
			}
		}
	}
	for _, r := range results {
		if r.twin != "" {
			fmt.Fprintf(&b, "NOT BY THE TWIN: %s, %s: %s\n%s\n  %s\n\n", r.world, r.intent, r.asked, r.sql, r.twin)
		}
	}
	return b.String()
}

// lists is what the page says of single questions.
func lists(results []result) string {
	var b strings.Builder
	for _, v := range []struct {
		verdict verdict
		heading string
	}{{other, "Answered with other rows"}, {gap, "Refused"}, {necessary, "Refused, as it must be"}} {
		found := only(results, func(r result) bool { return r.verdict == v.verdict })
		if len(found) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n| question | SQL | |\n|---|---|---|\n", v.heading)
		for _, r := range found {
			why := shorten(r.detail, 200)
			if v.verdict == necessary {
				why = r.necessary
			}
			fmt.Fprintf(&b, "| %s | `%s` | %s |\n", r.asked, cell(shorten(r.sql, 400)), cell(why))
		}
	}
	return b.String()
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

const marker = "<!-- The rest of this page is written by: make questions -->\n"

// write replaces what stands below the page's marker.
func write(page string, results []result) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	head, _, ok := strings.Cut(string(text), marker)
	if !ok {
		return fmt.Errorf("%s has no marker", page)
	}
	return os.WriteFile(page, []byte(head+marker+"\n"+table(results)+lists(results)), 0o644)
}
