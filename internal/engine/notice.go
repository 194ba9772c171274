package engine

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// notice says what the statement cost, what is left, and how far each aggregate may be off.
func (p *private) notice(answer []released) *pgconn.Notice {
	widest, types := map[string]float64{}, map[string]uint32{}
	var labels []string
	for i := range p.plan.Blocks {
		for _, column := range p.plan.Blocks[i].Columns {
			m, ok := p.margin(i, column, answer[i])
			if !ok {
				continue
			}
			name := label(column)
			if _, listed := widest[name]; !listed {
				labels = append(labels, name)
			}
			widest[name], types[name] = math.Max(widest[name], m), column.Type
		}
	}
	for i, name := range labels {
		labels[i] = fmt.Sprintf("%s: ±%s", name, amount(types[name], widest[name]))
	}
	return &pgconn.Notice{
		Severity: "NOTICE", SeverityUnlocalized: "NOTICE", Code: "00000",
		Message: fmt.Sprintf("dpproxy: epsilon %s spent, %s left", number(p.spent), number(p.balance.EpsilonLeft)),
		Detail:  strings.Join(labels, "\n"),
	}
}

// margin is the widest 95% margin of an aggregate over the groups that were released. It is a function of released
// values and public quantities (PRIVACY 19). Variances and regressions have none: they say nothing simple of their sums.
func (p *priced) margin(block int, column rewrite.Column, r released) (float64, bool) {
	if len(column.Releases) > 2 || len(r.Keys) == 0 {
		return 0, false
	}
	releases := p.plan.Blocks[block].Releases
	first := releases[column.Releases[0]]
	widest := 0.0
	for g := range r.Keys {
		z := r.Values[column.Releases[0]][g]
		m := p.blocks[block].releases[column.Releases[0]].Margin(z, r.countOf(first, g))
		if len(column.Releases) == 2 {
			n := r.Values[column.Releases[1]][g]
			count := p.blocks[block].releases[column.Releases[1]].Margin(n, 0)
			if column.Average {
				m = ratioMargin(first.PerRow, float64(z), m, float64(n), count)
			} else {
				m += math.Abs(float64(column.Twice)) * count
			}
		}
		widest = math.Max(widest, m*first.Grid.Step)
	}
	return widest, true
}

// ratioMargin is the margin of z/n from those of z and n: |Z/N − z/n| ≤ (|Z−z| + |z/n|·|N−n|)/N. The sum of two 95%
// margins bounds the 95% margin of the sum, since both noises are independent, symmetric and log-concave away from the
// bounds. A ratio is never further off than the range of one row is wide.
func ratioMargin(row mechanism.Interval, z, marginZ, n, marginN float64) float64 {
	width := float64(row.Hi) - float64(row.Lo)
	if n <= marginN {
		return width
	}
	return math.Min(width, (marginZ+math.Abs(z/n)*marginN)/(n-marginN))
}

// countOf is the released count that a chained sum's range follows from; 0 for other releases.
func (r released) countOf(release mechanism.Release, g int) int64 {
	if release.Kind != mechanism.Chained {
		return 0
	}
	return r.Values[release.CountRef][g]
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

// label names an aggregate as the client sees it: by its result column, else as it was written.
func label(c rewrite.Column) string {
	if c.Output != "" {
		return c.Output
	}
	return c.Name
}
