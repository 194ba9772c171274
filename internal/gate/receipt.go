package gate

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// Selection stands for a block's partition selection among its releases.
const Selection = -1

// Item is a mechanism for one release of one block of a plan.
type Item struct {
	Block, Release int
	Mechanism      *mechanism.Prepared // nil: a selection by a count that is released
}

// Ledger makes charges durable.
type Ledger interface {
	Spend(ctx context.Context, analyst string, charges []ledger.Charge) (ledger.Balance, error)
}

// Receipt says which draws of a plan's are paid for, each once. It belongs to one statement.
type Receipt struct {
	plan *rewrite.Plan
	left map[[2]int]*mechanism.Prepared // by block and release
}

// Spend charges for one draw with each of the mechanisms, and returns once that is on disk. Whoever has made the charge, it is refused if the
// mechanisms cost more, or are not for what the plan's releases are certified to move by.
func Spend(ctx context.Context, l Ledger, analyst string, plan *rewrite.Plan, charge ledger.Charge, items []Item) (*Receipt, ledger.Balance, error) {
	r := &Receipt{plan: plan, left: map[[2]int]*mechanism.Prepared{}}
	if err := r.add(charge, items); err != nil {
		return nil, ledger.Balance{}, fmt.Errorf("a charge of plan %.8s: %w", plan.Fingerprint, err)
	}
	after, err := l.Spend(ctx, analyst, []ledger.Charge{charge})
	if err != nil {
		return nil, after, err
	}
	return r, after, nil
}

// With adds what another receipt of the plan's is for.
func (r *Receipt) With(other *Receipt) *Receipt {
	if r == nil || r.plan != other.plan {
		return other
	}
	sum := &Receipt{plan: r.plan, left: maps.Clone(r.left)}
	maps.Copy(sum.left, other.left)
	return sum
}

// rounding bounds the relative error of adding up what mechanisms cost; each errs on the private side by more.
const rounding = 1e-12

// add holds the charge against what the mechanisms cost together.
func (r *Receipt) add(charge ledger.Charge, items []Item) error {
	var releases []mechanism.Release
	var prepared []*mechanism.Prepared
	delta := 0.0
	for _, it := range items {
		of := r.plan.Blocks[it.Block].Select
		if it.Release != Selection {
			of = &r.plan.Blocks[it.Block].Releases[it.Release]
		}
		at := [2]int{it.Block, it.Release}
		if _, twice := r.left[at]; twice || of == nil {
			return errors.New("it is for one release twice")
		}
		r.left[at] = it.Mechanism
		if it.Mechanism == nil { // a count that is released has paid for it, but for its part of δ
			continue
		}
		if !it.Mechanism.Serves(*of) {
			return fmt.Errorf("the mechanism of %s is one for another release", of.Name)
		}
		delta += it.Mechanism.Delta()
		releases, prepared = append(releases, *of), append(prepared, it.Mechanism)
	}
	if cost := mechanism.Compose(releases, prepared); !charge.Curve.Covers(cost, rounding) {
		return errors.New("its mechanisms cost more")
	}
	if charge.SelectionDelta < delta*(1-rounding) {
		return errors.New("its selections cost more")
	}
	return nil
}

// errUnpaid means that something was to be drawn that no receipt is for, or was drawn before. It never reaches a client.
var errUnpaid = errors.New("a draw that was not charged")

// take uses up what is paid for one draw.
func (r *Receipt) take(plan *rewrite.Plan, block, release int, p *mechanism.Prepared) error {
	if r == nil || r.plan != plan {
		return errUnpaid
	}
	at := [2]int{block, release}
	if paid, left := r.left[at]; !left || paid != p {
		return errUnpaid
	}
	delete(r.left, at)
	return nil
}
