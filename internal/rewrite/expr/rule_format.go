package expr

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/dpproxy/dpproxy/internal/refusal"
)

var formatRules = []rule{
	{
		names: "to_char", args: "timestamp|timestamptz,text",
		total: "a constant format of the closed list; bounded operand; the result is NULL for infinity", constants: []string{
			"", "the format",
		}, bounded: true, cost: cost{steps: 80}, apply: toChar,
	},
}

// charPattern is a template pattern of to_char: the unit in which what it shows changes, and whether that repeats
// within a day ('d'), a week ('w'), a few years ('y') or never ('n').
type charPattern struct {
	pattern string
	unit    string
	cycle   byte
	width   int // characters at most
}

// charPatterns are those that are accepted, the longest first.
var charPatterns = patterns(
	charPattern{"YYYY YY", "year", 'n', 7},
	charPattern{"IYYY IW", "week", 'n', 7},
	charPattern{"IDDD WW", "day", 'n', 3},
	charPattern{"Month MONTH month Mon MON mon", "month", 'y', 36},
	charPattern{"MM Q", "month", 'y', 3},
	charPattern{"DDD DD W", "day", 'y', 3},
	charPattern{"Day DAY day Dy DY dy", "day", 'w', 36},
	charPattern{"ID D", "day", 'w', 1},
	charPattern{"HH24 HH12 AM PM am pm", "hour", 'd', 4},
	charPattern{"MI", "minute", 'd', 2},
	charPattern{"SS", "second", 'd', 2},
)

func patterns(groups ...charPattern) (all []charPattern) {
	for _, p := range groups {
		for p.pattern = range strings.FieldsSeq(p.pattern) {
			all = append(all, p)
		}
	}
	slices.SortStableFunc(all, func(a, b charPattern) int { return cmp.Compare(len(b.pattern), len(a.pattern)) })
	return all
}

// charText matches what a format may hold beside patterns: FM, one separator, or quoted text without a backslash.
var charText = regexp.MustCompile(`^(FM|[-/:., _]|"[^"\\]*")`)

// charFormat is what a closed format depends on.
type charFormat struct {
	unit   string // the finest unit that it shows
	cycles string
	width  int // characters at most
}

// readFormat accepts formats made of the closed list and of charText.
func readFormat(s string) (charFormat, bool) {
	f := charFormat{unit: "year"}
	if len(s) > 100 {
		return f, false
	}
	for s != "" {
		i := slices.IndexFunc(charPatterns, func(p charPattern) bool { return strings.HasPrefix(s, p.pattern) })
		if i < 0 {
			text := charText.FindString(s)
			if text == "" {
				return f, false
			}
			f.width += len(text)
			s = s[len(text):]
			continue
		}
		p := charPatterns[i]
		if truncUnits[p.unit].days < truncUnits[f.unit].days {
			f.unit = p.unit
		}
		f.cycles += string(p.cycle)
		f.width += p.width
		s = s[len(p.pattern):]
	}
	return f, f.cycles != ""
}

func toChar(c *call, e *Expr) error {
	f, ok := readFormat(c.textOf(1))
	if !ok {
		return c.refuse(
			refusal.Format,
			"its format holds something else than YYYY, YY, IYYY, Q, MM, Mon, Month, DD, DDD, D, ID, Dy, Day, WW, W, IW, HH24, HH12, AM, MI, SS, FM, separators and quoted text",
			"print other parts, and numbers, above the aggregates")
	}
	if !micros(c.args[0]).Within(timestampSafe) {
		return c.refuse(refusal.Overflow, c.args[0].Text()+" may lie out of range", "declare narrower bounds")
	}
	e.maxLen = f.width
	e.series = charSeries(c, f)
	return nil
}
