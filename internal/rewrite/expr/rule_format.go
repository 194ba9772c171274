package expr

import (
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/refusal"
)

var formatRules = []rule{
	{names: "to_char", args: "timestamp|timestamptz,text", total: "a constant format of the closed list; the result is NULL for infinity", cost: cost{steps: 80}, apply: toChar},
	{names: "to_char", args: "int4|int8|numeric|float4|float8,text", total: "bounded operand; a constant format of 9, 0, commas, a point, FM, and S, SG or MI at the beginning or end", cost: cost{steps: 80}, apply: numberChar},
}

// charPatterns are the template patterns of to_char that are accepted, the longest first, with what they depend on: the unit in which
// they change, and whether they repeat within a day ('d'), a week ('w'), a few years ('y') or never ('n').
var charPatterns = []struct {
	pattern string
	unit    string
	cycle   byte
	width   int
}{
	{"HH24", "hour", 'd', 2},
	{"HH12", "hour", 'd', 2},
	{"YYYY", "year", 'n', 7},
	{"IYYY", "week", 'n', 7},
	{"Month", "month", 'y', 36},
	{"MONTH", "month", 'y', 36},
	{"month", "month", 'y', 36},
	{"IDDD", "day", 'n', 3},
	{"DDD", "day", 'y', 3},
	{"Day", "day", 'w', 36},
	{"DAY", "day", 'w', 36},
	{"day", "day", 'w', 36},
	{"Mon", "month", 'y', 12},
	{"MON", "month", 'y', 12},
	{"mon", "month", 'y', 12},
	{"YY", "year", 'n', 4},
	{"MM", "month", 'y', 3},
	{"DD", "day", 'y', 2},
	{"ID", "day", 'w', 1},
	{"IW", "week", 'n', 2},
	{"WW", "day", 'n', 2},
	{"Dy", "day", 'w', 12},
	{"DY", "day", 'w', 12},
	{"dy", "day", 'w', 12},
	{"MI", "minute", 'd', 2},
	{"SS", "second", 'd', 2},
	{"AM", "hour", 'd', 4},
	{"PM", "hour", 'd', 4},
	{"am", "hour", 'd', 4},
	{"pm", "hour", 'd', 4},
	{"Q", "month", 'y', 1},
	{"D", "day", 'w', 1},
	{"W", "day", 'y', 1},
}

var charSeparator = regexp.MustCompile(`^[-/:., _]$`)

// charFormat is what a closed format depends on.
type charFormat struct {
	unit   string // the finest unit that it shows
	cycles string
	width  int // characters at most
}

// readFormat accepts formats made of the closed list, of FM, of quoted text, of T between digits' patterns, and of separators.
func readFormat(s string) (charFormat, bool) {
	f := charFormat{unit: "year"}
	if len(s) > 100 {
		return f, false
	}
scan:
	for s != "" {
		for _, p := range charPatterns {
			if strings.HasPrefix(s, p.pattern) {
				if truncUnits[p.unit].days < truncUnits[f.unit].days {
					f.unit = p.unit
				}
				f.cycles += string(p.cycle)
				f.width += p.width
				s = s[len(p.pattern):]
				continue scan
			}
		}
		switch {
		case strings.HasPrefix(s, "FM"):
			s = s[2:]
		case s[0] == '"':
			end := strings.IndexByte(s[1:], '"')
			if end < 0 || strings.Contains(s[1:end+1], `\`) {
				return f, false
			}
			f.width += end
			s = s[end+2:]
		case charSeparator.MatchString(s[:1]):
			f.width++
			s = s[1:]
		default:
			return f, false
		}
	}
	return f, f.cycles != ""
}

func toChar(c *call) (*Expr, error) {
	e := c.result(pgtype.TextOID)
	format, known, err := c.constantText(1, "the format")
	if err != nil || !known {
		e.provisional = e.provisional || !known
		return e, err
	}
	f, ok := readFormat(format)
	if !ok {
		return nil, c.refuse(refusal.Format, "its format holds something else than YYYY, YY, IYYY, Q, MM, Mon, Month, DD, DDD, D, ID, Dy, Day, WW, W, IW, HH24, HH12, AM, MI, SS, FM, separators and quoted text", "")
	}
	x := c.args[0]
	if known, err := c.finite(); !known || err != nil {
		return e, err
	}
	if !micros(x).Within(timestampSafe) {
		return nil, c.refuse(refusal.Overflow, x.Text()+" may lie out of range", "declare narrower bounds")
	}
	e.maxLen = f.width
	e.series = charSeries(c, f)
	return e, nil
}

// numberFormat: a template of these is never wrong (formatting.c, NUMDesc_prepare).
var numberFormat = regexp.MustCompile(`^(FM)?(S|SG|MI)?[09](,?[09]){0,30}(\.[09]{0,20})?$|^(FM)?[09](,?[09]){0,30}(\.[09]{0,20})?(S|SG|MI)?$`)

// numberChar bounds to_char of a number. PostgreSQL prints what does not fit as #.
func numberChar(c *call) (*Expr, error) {
	e := c.result(pgtype.TextOID)
	format, known, err := c.constantText(1, "the format")
	if err != nil || !known {
		e.provisional = e.provisional || !known
		return e, err
	}
	if !numberFormat.MatchString(format) {
		return nil, c.refuse(refusal.Format, "its format holds something else than 9, 0, commas, a point, FM, and S, SG or MI at the beginning or end", "write a format such as 'FM999,990.00'")
	}
	if known, err := c.finite(); !known || err != nil {
		return e, err
	}
	e.maxLen = len(format) + 4
	return e, nil
}
