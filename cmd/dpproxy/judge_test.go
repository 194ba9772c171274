package main

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	// loose is by which part a number that follows from released ones, such as the margin of an average, may differ from
	// one reading to the next.
	loose = 0.5
	// unsaid is how far a number without a printed margin may be from the truth: a share or a percentile of many people.
	unsaid = 0.02
)

var (
	anyNumber = regexp.MustCompile(`-?[0-9]+(\.[0-9]+)?(e[-+][0-9]+)?`)
	anyRule   = regexp.MustCompile(`[-+]{3,}| +`)
	// drawn are the parts of a HINT that follow from released values, and may be there or not.
	drawn = regexp.MustCompile(
		` ?[0-9]+ of ([0-9]+) groups (is|are) not shown: [a-z ]+\. SET dpproxy\.empty_groups = keep shows all\.` +
			`| ?(The first [a-z0-9 ]+ certain, )?[pP]laces? [a-z0-9 ]+ within the noise\.`)
)

// compare notes how an output of the page differs from what was printed by more than noise. Numbers in what EXPLAIN
// foretells are public. Of others, where costs or the policy itself follow from released values, tolerance says by
// which part they may differ.
func (p *page) compare(old, now transcript, foretold string, tolerance float64) {
	if old.output == now.output {
		return
	}
	if nobodys(old.output) && nobodys(now.output) { // which rows are drawn is noise
		old.output, now.output = firstLines(old.output), firstLines(now.output)
	}
	olds, nows := parts(old.output), parts(now.output)
	margins := foretold
	if olds.hidden || nows.hidden { // so that other rows may be shown, and margins be those of some out of many
		olds.rows, nows.rows, margins = nil, nil, ""
	}
	what := ""
	switch {
	case shape(olds.header) != shape(nows.header) || !slices.Equal(olds.shapes(), nows.shapes()) ||
		!slices.Equal(olds.notes(), nows.notes()):
		what = "words"
	case olds.hint != nows.hint && (tolerance == 0 || !olds.says(foretold, tolerance)):
		what = "hints"
	case !similar(olds.notice, nows.notice, tolerance) || olds.notice == "" && !similar(old.output, now.output, tolerance):
		what = "numbers"
	default:
		for i, m := range nows.details {
			if !similar(olds.details[i], m, marginTolerance(m, margins, tolerance)) {
				what = "margins"
			}
		}
	}
	if what != "" {
		p.unlike = append(p.unlike, fmt.Errorf("%s differ: the page has\n%s\nand it prints\n%s", what, old, now))
	}
}

// nobodys reports whether rows are synthetic.
func nobodys(text string) bool {
	return strings.HasPrefix(text, "WARNING:  dpproxy: these rows are synthetic")
}

// firstLines are the warning and the names of the columns, whatever their widths.
func firstLines(text string) string {
	lines := strings.SplitN(text, "\n", 3)
	return strings.Join(strings.Fields(strings.Join(lines[:2], "\n")), " ")
}

// marginTolerance is 0 where EXPLAIN foretold the margins, unless the policy is a released one.
func marginTolerance(margins, foretold string, tolerance float64) float64 {
	for _, m := range margin.FindAllString(margins, -1) {
		if !strings.Contains(foretold, m+" (") || math.IsInf(tolerance, 1) {
			return max(tolerance, loose)
		}
	}
	return 0
}

// output has the parts of one: of the notice, and of the table or what else there is.
type output struct {
	notice  string
	details []string
	hint    string // without what noise decides
	hidden  bool   // groups are
	header  string
	rows    []string
}

func parts(text string) (o output) {
	lines := strings.Split(text, "\n")
	if !strings.HasPrefix(text, "NOTICE:  dpproxy: ") {
		o.rows = lines
		return o
	}
	o.notice, lines = lines[0], lines[1:]
	for i, line := range lines {
		detail, begins := strings.CutPrefix(line, "DETAIL:  ")
		hint, ends := strings.CutPrefix(line, "HINT:  ")
		switch {
		case i+1 < len(lines) && strings.HasPrefix(lines[i+1], "---"):
			o.header, o.rows = line, lines[i+2:]
			return o
		case ends:
			o.hidden = strings.Contains(hint, "not shown: ")
			o.hint = strings.TrimSpace(drawn.ReplaceAllString(hint, ""))
		case begins || len(o.details) > 0:
			o.details = append(o.details, detail)
		}
	}
	return o
}

// says reports whether a hint has all that EXPLAIN foretold of what is left out.
func (o output) says(foretold string, tolerance float64) bool {
	for line := range strings.Lines(foretold) {
		if left, ok := strings.CutPrefix(strings.TrimSpace(line), "left out: "); ok && !strings.Contains(o.hint, left) &&
			!(math.IsInf(tolerance, 1) && strings.Contains(shape(o.hint), shape(left))) {
			return false
		}
	}
	return true
}

// shapes are the rows without numbers, in any order: noise may decide it.
func (o output) shapes() (all []string) {
	for _, row := range o.rows {
		all = append(all, shape(row))
	}
	if o.notice != "" {
		slices.Sort(all)
	}
	return all
}

// notes are what the notice says, without numbers; the margins of groups may be one or several.
func (o output) notes() (all []string) {
	for _, d := range o.details {
		all = append(all, strings.TrimSuffix(shape(d), " to ±#"))
	}
	return append(all, shape(o.notice))
}

// shape is a text without what noise and the width of columns change.
func shape(text string) string {
	return anyRule.ReplaceAllString(anyNumber.ReplaceAllString(text, "#"), " ")
}

// similar reports whether texts have the same numbers, but for a part of each.
func similar(a, b string, tolerance float64) bool {
	as, bs := anyNumber.FindAllString(a, -1), anyNumber.FindAllString(b, -1)
	if len(as) != len(bs) {
		return tolerance > 0
	}
	for i := range as {
		x, y := figure(as[i]), figure(bs[i])
		if x != y && !(math.Abs(x-y) <= tolerance*max(math.Abs(x), 1)) {
			return false
		}
	}
	return true
}

func figure(text string) float64 {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.NaN()
	}
	return x
}

// table is what psql prints of rows.
type table struct {
	header []string
	rows   [][]string
}

func readTable(output string) (t table) {
	cells := func(line string) []string {
		list := strings.Split(line, "|")
		for i := range list {
			list[i] = strings.TrimSpace(list[i])
		}
		return list
	}
	lines := strings.Split(output, "\n")
	for i, line := range lines {
		if t.header == nil && strings.HasPrefix(line, "---") && i > 0 {
			t.header = cells(lines[i-1])
		} else if t.header != nil && !strings.HasPrefix(line, "(") {
			t.rows = append(t.rows, cells(line))
		} else if t.header != nil {
			break
		}
	}
	return t
}

// keys is how many columns tell the rows apart.
func (t table) keys() int {
	for k := range t.header {
		seen := map[string]bool{}
		for _, row := range t.rows {
			seen[strings.Join(row[:k], "|")] = true
		}
		if len(seen) == len(t.rows) {
			return k
		}
	}
	return len(t.header)
}

var (
	margin  = regexp.MustCompile(`±\S+`)
	limited = regexp.MustCompile(`\s+LIMIT \d+;`)
	percent = regexp.MustCompile(` / `)
)

// strays are the numbers of a page that are further from the truth than their margins say.
func (r *reader) strays(text string) (all []error) {
	for i, part := range strings.Split(text, "```") {
		_, body, _ := strings.Cut(part, "\n")
		for _, x := range transcripts(body) {
			if i%2 == 1 && x.private() {
				whole := limited.ReplaceAllString(strings.NewReplacer("dpproxy.", "pg_temp.", "round(", "pg_temp.round(").Replace(
					x.typed), ";")
				all = append(all, strays(x, readTable(x.output), readTable(r.truth(whole)))...)
			}
		}
	}
	return all
}

func strays(x transcript, page, truth table) (all []error) {
	k := max(page.keys(), truth.keys())
	exact := map[string][]string{}
	for _, row := range truth.rows {
		exact[strings.Join(row[:k], "|")] = row
	}
	if len(page.rows) == 0 {
		return []error{fmt.Errorf("%s: no rows", x.typed)}
	}
	for _, row := range page.rows {
		of, known := exact[strings.Join(row[:k], "|")]
		if !known {
			all = append(all, fmt.Errorf("%s: no row %v in %v", x.typed, row, truth))
			continue
		}
		for j := k; j < len(row); j++ {
			name, end := page.header[j], ""
			if base, what, cut := cutEnd(name); cut {
				name, end = base, what
			}
			c := slices.Index(truth.header, page.header[j])
			if c < 0 {
				c = slices.Index(truth.header, name)
			}
			m := x.margin(page.header[k:], page.header[j])
			if m < 0 && strings.Contains(parts(x.output).hint, "unknown") {
				continue // it is said that nobody knows
			}
			if c < 0 || !within(row[j], of[c], end, m) {
				all = append(all, fmt.Errorf("%s: %s is %s in %v, and in truth %v", x.typed, page.header[j], row[j], row, of))
			}
		}
	}
	return all
}

// cutEnd knows the ends of intervals by their names: visits_low.
func cutEnd(name string) (of, end string, ok bool) {
	for _, end := range []string{"low", "high"} {
		if of, ok := strings.CutSuffix(name, end); ok {
			return strings.TrimSuffix(of, "_"), end, true
		}
	}
	return name, "", false
}

// margin is the widest that the notice says of a column: under its name, or else in its place. −1: none is said.
func (x transcript) margin(columns []string, column string) float64 {
	details := parts(x.output).details
	at := slices.IndexFunc(details, func(d string) bool { return strings.HasPrefix(d, column+": ±") })
	if at < 0 && len(details) == len(columns) && !percent.MatchString(x.typed) {
		at = slices.Index(columns, column)
	}
	if at < 0 || !margin.MatchString(details[at]) {
		return -1
	}
	all := margin.FindAllString(details[at], -1)
	return figure(strings.TrimPrefix(all[len(all)-1], "±"))
}

// within reports whether the numbers of a cell are as near to the truth as is said, or on the right side of it, but for
// rounding.
func within(cell, truth, end string, margin float64) bool {
	if shape(cell) != shape(truth) {
		return false
	}
	exact := anyNumber.FindAllString(truth, -1)
	for i, text := range anyNumber.FindAllString(cell, -1) {
		_, decimals, _ := strings.Cut(text, ".")
		rounding := 0.5 * math.Pow10(-len(decimals))
		x, y := figure(text), figure(exact[i])
		by := margin + rounding
		if margin < 0 {
			by = unsaid*math.Abs(y) + rounding
		}
		if end == "low" && x > y+rounding || end == "high" && x < y-rounding || end == "" && !(math.Abs(x-y) <= by) {
			return false
		}
	}
	return true
}

const judged = `NOTICE:  dpproxy: 2% of your budget spent, 90% left, enough for 45 like this
DETAIL:  visits: ±4
avg(minutes): ±1.5 to ±2.5
HINT:  At most 1% is beyond. 3 of 5 groups are not shown: they cannot be told from empty ones. SET dpproxy.empty_groups = keep shows all.
 ward | visits | minutes
------+--------+---------
 a    |    100 |      40
 b    |     50 |      61
(2 rows)`

// TestPagesAreJudged: what noise may change passes, and nothing else.
func TestPagesAreJudged(t *testing.T) {
	const foretold = " share: 2% of your budget\n margin: visits: ±4 (95%)\n left out: At most 1% is beyond.\n"
	hidden := regexp.MustCompile(` 3 of 5 groups .* shows all\.`).FindString(judged)
	plain := strings.Replace(judged, hidden, "", 1)
	for _, c := range []struct {
		name, printed, now, old string // what is printed; the page has old in place of now
		tolerance               float64
		want                    string
	}{
		{"the same", judged, "", "", 0, ""},
		{"other noise", judged, "100 |", "104 |", 0, ""},
		{"more groups hidden", judged, "3 of 5", "4 of 5", 0, ""},
		{"none hidden", judged, hidden, "", 0, ""},
		{"margins of averages", judged, "±2.5", "±2.6", 0, ""},
		{"margins of averages far off", judged, "±2.5", "±9", 0, "margins differ"},
		{"a public margin", plain, "visits: ±4", "visits: ±5", 0, "margins differ"},
		{"a cost", judged, "2% of", "2.1% of", 0, "numbers differ"},
		{"what is left", judged, "45 like", "44 like", 0, "numbers differ"},
		{"what is left, after costs that follow from answers", judged, "45 like", "44 like", loose, ""},
		{"a hint", judged, "1% is", "2% is", 0, "hints differ"},
		{"a hint that EXPLAIN foretells", judged, "At most 1% is", "At most 2% is", loose, "hints differ"},
		{"a hint that follows from answers", judged, " 3 of 5", " What was asked would cost 7%. 3 of 5", loose, ""},
		{"a word", judged, "left, enough", "left, but enough", 0, "words differ"},
		{"a column", judged, "| minutes", "| hours", 0, "words differ"},
		{"a group that is not there", plain, " b ", " c ", 0, "words differ"},
		{"another number of groups", plain, " b    |     50 |      61\n", "", 0, "words differ"},
		{"no noise", "(1 row)", "1", "2", 0, "numbers differ"},
	} {
		p := page{}
		p.compare(transcript{"a=> ", "SELECT", strings.Replace(c.printed, c.now, c.old, 1)},
			transcript{"a=> ", "SELECT", c.printed}, foretold, c.tolerance)
		if got := fmt.Sprint(p.unlike); c.want == "" && len(p.unlike) > 0 || !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %q", c.name, got, c.want)
		}
	}
}

// TestStraysAreFound: numbers beyond their margins and rows that are not there are found.
func TestStraysAreFound(t *testing.T) {
	truth := table{[]string{"ward", "visits", "minutes"}, [][]string{
		{"a", "97", "38.2"},
		{"b", "54", "60.9"},
		{"c", "1", "3"},
	}}
	for _, c := range []struct {
		name, old, now string
		want           int
	}{
		{"all near", "", "", 0},
		{"a count beyond its margin", "    100", "    102", 1},
		{"an average beyond the widest margin, and rounding", " 40", " 42", 1},
		{"within rounding", "     61", "     63", 0},
		{"a group that is not there", " b ", " d ", 1},
		{"no margin said", "avg(minutes): ±1.5 to ±2.5\n", "", 1},
		{"nobody knows", "avg(minutes): ±1.5 to ±2.5\nHINT:  ", "HINT:  How many there are is unknown. ", 0},
		{"no rows", " a    |    100 |      40\n b    |     50 |      61\n", "", 1},
	} {
		x := transcript{"a=> ", "SELECT ward", strings.Replace(judged, c.old, c.now, 1)}
		if got := strays(x, readTable(x.output), truth); len(got) != c.want {
			t.Errorf("%s: %v, want %d", c.name, got, c.want)
		}
	}
	if got := untied("`±7` and `x`, 12 % and ±3 of 1,000, `2 %` of 2,000, 95 % each\n```\n±3 12 1000\n```\n"); len(got) != 2 {
		t.Errorf("untied: %v, want ±7 and 2,000", got)
	}
}
