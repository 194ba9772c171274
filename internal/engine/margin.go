package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dpproxy/dpproxy/internal/engine/estimate"
	"github.com/dpproxy/dpproxy/internal/ledger/accounting"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// wantedMargin holds SET dpproxy.margin: a 95% margin in the units of a column, or as a share of its valid range.
type wantedMargin struct {
	text  string
	value float64
	share bool
}

func parseMargin(text string) (wantedMargin, error) {
	number, share := strings.CutSuffix(text, "%")
	value, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !(value > 0) || math.IsInf(value, 0) {
		return wantedMargin{}, pgerr.New(pgerr.InvalidParameterValue,
			fmt.Sprintf("invalid value for parameter \"dpproxy.margin\": %q", text),
			pgerr.Hint("Use a positive number, as '20', or a share of the valid range, as '2%%'."))
	}
	if share {
		value /= 100
	}
	return wantedMargin{text, value, share}, nil
}

// marginTolerance bounds by how much, relatively, the nominal ε of a statement with a wanted margin exceeds the least
// one.
const marginTolerance = 1e-3

// budgetFor finds the least nominal ε at which every release of the plan keeps the margin at public quantities. If
// little more is enough with noise that is paid at order ∞, it is that much (worthNoPure). Where there are averages it
// is no less than what is set: their counts have their part of that (averages.go). Any other release whose range
// follows from a count, or that is drawn from ranks, has no margin before it is drawn and is refused.
func (w wantedMargin) budgetFor(ctx context.Context, plan *rewrite.Plan, b statementBudget) (statementBudget, error) {
	least := 0.0
	for _, block := range plan.Blocks {
		for j, r := range block.Releases {
			switch {
			case r.Kind == mechanism.Scalar:
			case averages(&block, j):
				least = math.Min(b.epsilon, plan.EpsilonMax)
			default:
				return b, refusal.New(refusal.Margin, fmt.Sprintf(
					"dpproxy.margin does not apply to %s: its margin follows from released values, and cannot be chosen before",
					r.Name),
					pgerr.Hint(
						"RESET dpproxy.margin and SET dpproxy.epsilon. Or ask for counts, averages, and sums that are not averaged too, in a statement of their own."))
			}
		}
	}
	b.margin = &w
	cheapest, err := leastEpsilon(least, plan.EpsilonMax, func(epsilon float64) error {
		b.epsilon = epsilon
		_, err := prepareWays(ctx, plan, b)
		return err
	})
	if b.epsilon = cheapest; err != nil || b.room.Renyi == nil { // pure accounting has order ∞ alone
		return b, err
	}
	atInfinity, err := leastEpsilon(least, plan.EpsilonMax, func(epsilon float64) error {
		b.epsilon = epsilon
		first := b.prices(epsilon)[0]
		if first.order != accounting.Infinite {
			return errNotPure
		}
		_, err := first.calibrate(ctx, plan, b)
		return err
	})
	if b.epsilon = cheapest; err == nil && atInfinity*worthNoPure <= cheapest {
		b.epsilon = atInfinity
	}
	return b, nil
}

// errNotPure means that order ∞ is not the cheapest.
var errNotPure = errors.New("a finite order is cheaper")

// leastEpsilon finds the least ε between least and most at which try succeeds; its error is that at most.
func leastEpsilon(least, most float64, try func(epsilon float64) error) (float64, error) {
	if least > 0 && try(least) == nil {
		return least, nil
	}
	if err := try(most); err != nil {
		return 0, err
	}
	low, high := least, most
	for high-low > marginTolerance*high {
		if middle := (low + high) / 2; try(middle) == nil {
			high = middle
		} else {
			low = middle
		}
	}
	return high, nil
}

// least is the least margin, in the units or as the share of the wanted one, that every release keeps wherever in its
// range the released value lies. Infinite: a share of a range without an end, or ctx has ended.
func (p *calibrated) least(ctx context.Context, w wantedMargin) float64 {
	least := 0.0
	for i, block := range p.Mechanisms {
		for j, prepared := range block.Releases {
			r := p.Plan.Blocks[i].Releases[j]
			if r.Margin > 0 || p.wanted[i][j] > 0 || !shownItself(&p.Plan.Blocks[i], j) {
				continue // has its own, or keeps it later, or is not shown
			}
			if ctx.Err() != nil {
				return math.Inf(1)
			}
			margin := prepared.PlannedMargin() * r.Grid.Step
			if w.share {
				lo, hi := r.Range[0].Lo, r.Range[len(r.Range)-1].Hi
				if lo == mechanism.NoLower || hi == mechanism.NoUpper {
					return math.Inf(1)
				}
				margin /= float64(hi-lo) * r.Grid.Step
			}
			least = math.Max(least, margin)
		}
	}
	return least
}

// print writes a margin of the same kind, rounded up, as SET dpproxy.margin takes it; empty: there is none.
func (w wantedMargin) print(margin float64) string {
	switch {
	case math.IsInf(margin, 1):
		return ""
	case w.share:
		return plain(estimate.RoundedUp(100*margin)) + "%"
	}
	return plain(estimate.RoundedUp(margin))
}

// plain writes a number without an exponent.
func plain(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// shownItself says whether a release is shown, but for one that averages are divided by.
func shownItself(block *rewrite.Block, release int) bool {
	counts := false
	for _, c := range block.Columns {
		if !slices.Contains(c.Releases, release) {
			continue
		}
		if !c.Average {
			return true
		}
		counts = true
	}
	return !counts && block.Asked(release)
}

// perRow is the margin of an average, in steps per row of its sum. The valid range of an average is that of a row.
func (w wantedMargin) perRow(sum mechanism.Release) float64 {
	if w.share {
		return w.value * float64(sum.PerRow.Hi-sum.PerRow.Lo)
	}
	return w.value / estimate.Step(sum)
}
