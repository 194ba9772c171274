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
		Hint:    leftOut(p.plan),
	}
}

// leftOut says that units may have rows in more groups than they count in; empty where they cannot.
func leftOut(plan *rewrite.Plan) string {
	at := slices.IndexFunc(plan.Blocks, func(b rewrite.Block) bool { return b.Picked > 0 })
	if at < 0 {
		return ""
	}
	b := plan.Blocks[at]
	return fmt.Sprintf("Each %[1]s counts in at most %[2]d of these groups (max_groups_per_unit): rows of the same %[1]s in other groups are left out, "+
		"which the margins do not cover. A group asked for alone, by WHERE, has all its rows.", b.Unit, b.Picked)
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

// margin returns the least and the greatest 95% margin of an aggregate over the groups that were released. Both are functions of
// released values and public quantities (docs/mechanisms.md §8). Variances and regressions have none, because they do not follow
// simply from the margins of their sums. Percentiles have none, because the distance to the value of the next rank is private.
// Booleans have none.
func (p *calibrated) margin(block int, column rewrite.Column, r released) (least, most float64, ok bool) {
	if len(column.Releases) > 2 || len(r.Keys) == 0 || column.Type == pgtype.BoolOID {
		return 0, 0, false
	}
	releases := p.plan.Blocks[block].Releases
	first := releases[column.Releases[0]]
	if first.Kind == mechanism.Quantile {
		return 0, 0, false
	}
	least = math.Inf(1)
	for g := range r.Keys {
		z := r.Values[column.Releases[0]][g]
		m := p.blocks[block].releases[column.Releases[0]].Margin(z, r.countOf(first, g))
		if len(column.Releases) == 2 {
			n := r.Values[column.Releases[1]][g]
			count := p.blocks[block].releases[column.Releases[1]].Margin(n, 0)
			if column.Average {
				m = ratioMargin(first.PerRow, float64(z), m, float64(n), count)
			} else {
				m += math.Abs(float64(column.DoubledCenter)) * count
			}
		}
		least, most = math.Min(least, m*first.Grid.Step), math.Max(most, m*first.Grid.Step)
	}
	return least, most, true
}

// ratioMargin derives the margin of z/n from those of z and n: |Z/N − z/n| ≤ (|Z−z| + |z/n|·|N−n|)/N. The sum of two 95%
// margins bounds the 95% margin of the sum, since both noises are independent, symmetric and log-concave away from the
// bounds. A ratio is never further off than the range of one row is wide.
func ratioMargin(row mechanism.Interval, z, marginZ, n, marginN float64) float64 {
	width := float64(row.Hi) - float64(row.Lo)
	if n <= marginN {
		return width
	}
	return math.Min(width, (marginZ+math.Abs(z/n)*marginN)/(n-marginN))
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
