package engine

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// notice says what the statement cost, what is left, how far each aggregate may be off, and what the policy left out.
func (p *private) notice(answer []released) *pgconn.Notice {
	return &pgconn.Notice{
		Severity: "NOTICE", SeverityUnlocalized: "NOTICE", Code: "00000",
		Message: fmt.Sprintf("dpproxy: epsilon %s spent, %s left", number(p.spent), number(p.balance.EpsilonLeft)),
		Detail:  strings.Join(p.margins(answer), "\n"),
		Hint:    strings.Join(p.hints(), " "),
	}
}

// hints says which rows the answer leaves out, and which groups.
func (p *calibrated) hints() []string {
	if rows := leftOut(p.plan); rows != "" {
		return append([]string{rows}, p.groupHints()...)
	}
	return p.groupHints()
}

// leftOut says what the policy leaves out of the answer, and whether the margins cover it; empty where nothing is left out.
func leftOut(plan *rewrite.Plan) string {
	var hints []string
	if at := slices.IndexFunc(plan.Blocks, func(b rewrite.Block) bool { return b.Picked > 0 }); at >= 0 {
		b := plan.Blocks[at]
		hints = append(hints, fmt.Sprintf("Each %[1]s counts in at most %[2]d of these groups (max_groups_per_unit): rows of the same %[1]s in other groups are left out, "+
			"which the margins do not cover. A group asked for alone, by WHERE, has all its rows.", b.Unit, b.Picked))
	}
	if at := slices.IndexFunc(plan.Blocks, func(b rewrite.Block) bool { return b.Rows > 0 && (b.LeftOut == nil || *b.LeftOut > 0) }); at >= 0 {
		b := plan.Blocks[at]
		hint := fmt.Sprintf("Rows beyond max_rows_per_unit are left out: more than %[1]d of one %[2]s count as %[1]d. ", b.Rows, b.Unit)
		if b.LeftOut == nil {
			hint += "How many there are is unknown, and the margins do not cover them: the administrator can give left_out."
		} else {
			hint += fmt.Sprintf("They are %s%% of all rows (left_out), which the margins cover.", number(100**b.LeftOut))
		}
		hints = append(hints, hint)
	}
	return strings.Join(hints, " ")
}

// margins has a line for each aggregate that has a margin: «name: ±6», or «name: ±6 to ±40» where groups differ.
func (p *calibrated) margins(answer []released) []string {
	type line struct {
		label       string
		typ         uint32
		least, most float64
	}
	var lines []line
	named := names(p.plan)
	for i, block := range p.plan.Blocks {
		for _, column := range block.Columns {
			least, most, ok := p.margin(i, column, answer[i])
			if !ok {
				continue
			}
			label := named(column)
			at := slices.IndexFunc(lines, func(l line) bool { return l.label == label })
			if at < 0 {
				at = len(lines)
				lines = append(lines, line{label, column.Type, least, most})
			}
			l := &lines[at]
			l.least, l.most = math.Min(l.least, least), math.Max(l.most, most)
		}
	}
	var out []string
	for _, l := range lines {
		text := l.label + ": ±" + amount(l.typ, l.least)
		if most := amount(l.typ, l.most); most != amount(l.typ, l.least) {
			text += " to ±" + most
		}
		out = append(out, text)
	}
	return out
}

// names tells aggregates apart as the client sees them: by the result column, or as it was written where that is none, or
// the name of several («avg» is what PostgreSQL calls every average).
func names(plan *rewrite.Plan) func(rewrite.Column) string {
	written := map[string]string{}
	shared := map[string]bool{}
	for _, block := range plan.Blocks {
		for _, c := range block.Columns {
			if w, ok := written[c.Output]; ok && w != c.Name {
				shared[c.Output] = true
			}
			written[c.Output] = c.Name
		}
	}
	return func(c rewrite.Column) string {
		if c.Output == "" || shared[c.Output] {
			return c.Name
		}
		return c.Output
	}
}

// margin returns the least and the greatest 95% margin of an aggregate over the groups that were released: how far the further end of its
// interval is from the value. Percentiles have one where both ends are asked for: nothing better than their range is public of others.
func (p *calibrated) margin(block int, column rewrite.Column, r released) (least, most float64, ok bool) {
	if column.Choice {
		return 0, 0, false
	}
	first := p.plan.Blocks[block].Releases[column.Releases[0]]
	if first.Kind == mechanism.Quantile && (column.Low == 0 || column.High == 0) {
		return 0, 0, false
	}
	least = math.Inf(1)
	for g := range r.Keys.Len() {
		i, has := p.interval(block, column, r, g)
		if !has {
			continue
		}
		m := math.Max(i.below, i.above) * first.Grid.Step
		if column.Average {
			m /= float64(r.Values[column.Releases[1]][g])
		}
		least, most, ok = math.Min(least, m), math.Max(most, m), true
	}
	return least, most, ok
}

// amount prints a margin of a value of a type: of times, whose steps are microseconds, as an interval.
func amount(oid uint32, v float64) string {
	switch oid {
	case pgtype.TimestampOID, pgtype.TimestamptzOID, pgtype.IntervalOID, pgtype.TimeOID:
	default:
		return number(v)
	}
	seconds := v / 1e6
	days := math.Floor(seconds / 86400)
	text := ""
	if days > 0 {
		text = number(days) + " days "
	}
	rest := int64(math.Ceil(seconds - days*86400))
	return fmt.Sprintf("%s%02d:%02d:%02d", text, rest/3600, rest/60%60, rest%60)
}

// number prints a figure for people: four significant digits, no exponent where it reads well.
func number(v float64) string {
	if a := math.Abs(v); a >= 1000 && a < 1e15 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}
