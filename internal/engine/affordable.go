package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/engine/estimate"
	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// hintAffordable adds to the refusal of a statement that is over budget which ε, or which margin, what is left still
// pays for. It follows from the statement, the policy and what was charged, as the refusal does.
func (c *call) hintAffordable(ctx context.Context, p *calibrated, err error) error {
	var refused *pgconn.PgError
	if !errors.As(err, &refused) || refused.Code != pgerr.BudgetExceeded {
		return err
	}
	told := *refused
	told.Hint = strings.TrimSpace(c.affordable(ctx, p) + " " + told.Hint)
	return &told
}

// affordable words an ε or a margin that still fits; empty where none is found.
func (c *call) affordable(ctx context.Context, p *calibrated) string {
	cheaper := c.atAffordableEpsilon(ctx, p)
	if cheaper == nil {
		return ""
	}
	text := fmt.Sprintf("dpproxy.epsilon = %s still fits%s.", estimate.Number(cheaper.epsilon), cheaper.plannedMargins())
	if p.budget.margin == nil {
		return text
	}
	if margin := c.widerMargin(ctx, p, cheaper); margin != "" {
		return fmt.Sprintf("dpproxy.margin = '%s' still fits.", margin)
	}
	return "RESET dpproxy.margin: " + text
}

// atAffordableEpsilon is the statement at an ε that still fits, without dpproxy.margin; nil: none is found. It begins
// with what the share that is left would pay for, if the statement's curve were that of its price and no other budget
// had a say.
func (c *call) atAffordableEpsilon(ctx context.Context, p *calibrated) *calibrated {
	balance, err := c.engine.ledger.Balance(ctx, c.scope.Analyst)
	if err != nil {
		return nil
	}
	const tries, step = 4, .7
	b := p.budget
	b.margin, b.epsilon = nil, b.affords(balance.ShareLeft, math.Min(p.epsilon, b.most), p.price.order)
	for range tries {
		if b.epsilon = roundedDown(b.epsilon); !(b.epsilon > 0) {
			return nil
		}
		if other, err := shareBudget(ctx, p.Plan, b); err == nil && c.fits(ctx, other) {
			return other
		}
		b.epsilon *= step
	}
	return nil
}

// widerMargin is a margin for dpproxy.margin that still fits, about what the statement has at the price of
// atAffordableEpsilon; empty: none is found.
func (c *call) widerMargin(ctx context.Context, p, cheaper *calibrated) string {
	if p.chargedInParts() {
		return "" // what it costs follows from what is released first
	}
	wanted := *p.budget.margin
	text := wanted.print(cheaper.least(ctx, wanted))
	if text == "" || text == "0" {
		return ""
	}
	wider, err := parseMargin(text)
	if err != nil {
		return ""
	}
	b := p.budget
	b.margin = nil
	if b, err = wider.budgetFor(ctx, p.Plan, b); err != nil {
		return ""
	}
	if other, err := shareBudget(ctx, p.Plan, b); err != nil || !c.fits(ctx, other) {
		return ""
	}
	return text
}

// fits says whether the ledger would admit a statement now.
func (c *call) fits(ctx context.Context, p *calibrated) bool {
	_, err := c.engine.ledger.Preview(ctx, c.scope.Analyst, []ledger.Charge{p.charge})
	return err == nil
}

// affords is the greatest ε, at most most, whose price at an order takes no more than a share of the whole budget.
func (b statementBudget) affords(share, most float64, order int) float64 {
	low, high := 0.0, most
	for high-low > nominalTolerance*most {
		middle := (low + high) / 2
		if b.share(middle, order) <= share {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// plannedMargins lists the margins of what is shown that are known before anything is drawn.
func (p *calibrated) plannedMargins() string {
	var list []string
	for i := range p.Plan.Blocks {
		block := &p.Plan.Blocks[i]
		for j, r := range block.Releases {
			if margin := p.Noise(i, j).Margin; margin != nil && shownItself(block, j) {
				list = append(list, fmt.Sprintf("±%s for %s", estimate.UnitOf(block, j).Difference(*margin), r.Name))
			}
		}
	}
	if list == nil {
		return ""
	}
	return ", with a margin of " + strings.Join(list, ", ")
}

// roundedDown is no more than v, with two digits.
func roundedDown(v float64) float64 {
	if !(v > 0) {
		return 0
	}
	const rounding = 1e-6 // what is found by halving is as good as the number beside it
	digit := math.Pow(10, math.Floor(math.Log10(v*(1+rounding)))-1)
	down, err := strconv.ParseFloat(strconv.FormatFloat(math.Floor(v*(1+rounding)/digit)*digit, 'g', 2, 64), 64)
	if err != nil {
		return 0
	}
	return down
}
