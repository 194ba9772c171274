package gate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

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
	// Of blocks whose groups a released count selects: the threshold that it has to reach.
	least map[int]mechanism.CountThreshold
}

// Spend charges for one draw with each of the mechanisms, and returns once that is on disk. Whoever has made the
// charge, and whatever scale the mechanisms have, it is refused if drawing costs more for what the plan's releases are
// certified to move by (internal/loss).
func Spend(ctx context.Context, l Ledger, analyst string, plan *rewrite.Plan, charge ledger.Charge, items []Item) (
	*Receipt, ledger.Balance, error,
) {
	r := &Receipt{plan: plan, left: map[[2]int]*mechanism.Prepared{}, least: map[int]mechanism.CountThreshold{}}
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
	sum := &Receipt{plan: r.plan, left: maps.Clone(r.left), least: maps.Clone(r.least)}
	maps.Copy(sum.left, other.left)
	maps.Copy(sum.least, other.least)
	return sum
}

// rounding bounds the relative error of adding up what mechanisms cost; each errs on the private side by more.
const rounding = 1e-12

// add holds the charge against what the mechanisms cost together, in the order of the releases: of quantiles with one
// fraction, it says which is drawn from which rows.
func (r *Receipt) add(charge ledger.Charge, items []Item) error {
	items = slices.Clone(items)
	slices.SortFunc(items, func(a, b Item) int { return cmp.Or(a.Block-b.Block, a.Release-b.Release) })
	var releases []mechanism.Release
	var prepared []*mechanism.Prepared
	var counted []int // blocks whose groups a released count selects
	delta := 0.0
	for _, it := range items {
		k := &r.plan.Blocks[it.Block]
		of := k.Select
		if it.Release != Selection {
			of = &k.Releases[it.Release]
		}
		at := [2]int{it.Block, it.Release}
		if _, twice := r.left[at]; twice || of == nil {
			return errors.New("it is for one release twice")
		}
		r.left[at] = it.Mechanism
		switch {
		case it.Mechanism != nil:
			if err := it.Mechanism.Verify(*of); err != nil {
				return fmt.Errorf("the mechanism of %s: %w", of.Name, err)
			}
			delta += it.Mechanism.Delta()
			releases, prepared = append(releases, *of), append(prepared, it.Mechanism)
		case it.Release == Selection && k.SelectBy > 0: // the count has paid for it, but for its part of δ
			counted = append(counted, it.Block)
		default:
			return fmt.Errorf("%s has no mechanism", of.Name)
		}
	}
	if cost := mechanism.Compose(releases, prepared); !charge.Curve.Covers(cost, rounding) {
		return errors.New("its mechanisms cost more")
	}
	if !(charge.SelectionDelta >= delta*(1-rounding)) {
		return errors.New("its selections cost more")
	}
	if err := r.sharesNoVector(items); err != nil {
		return err
	}
	return r.thresholds(counted, (charge.SelectionDelta-delta)/float64(max(len(counted), 1)))
}

// sharesNoVector says whether two releases would have the same coordinate of joint noise, or one vector but not the
// same rows of a unit (certify has derived that they have of one block's with as many), or quantiles of a family
// several draws: mechanism.Compose charges each once, a family as it is drawn of those that it is given.
func (r *Receipt) sharesNoVector(items []Item) error {
	type place struct {
		of *mechanism.Cube
		at int
	}
	taken, vector, draws, left := map[place]bool{}, map[*mechanism.Cube]Item{}, map[int]*mechanism.Prepared{},
		map[int]int{}
	for _, it := range items {
		if it.Mechanism == nil {
			continue
		}
		releases := r.plan.Blocks[it.Block].Releases
		if cube, at := it.Mechanism.Joint(); cube != nil {
			if vector[cube].Mechanism == nil {
				vector[cube] = it
			}
			first, rows := vector[cube], releases[it.Release].Rows()
			if taken[place{cube, at}] || first.Block != it.Block || rows == 0 || rows != releases[first.Release].Rows() {
				return errors.New("two releases share noise")
			}
			taken[place{cube, at}] = true
		}
		if it.Release == Selection || !releases[it.Release].InFamily() {
			continue
		}
		family := releases[it.Release].Family
		if draws[family] == nil {
			draws[family], left[family] = it.Mechanism, mechanism.Together(releases, it.Release)
		}
		if !draws[family].DrawnWith(it.Mechanism, mechanism.Together(releases, it.Release)) {
			return errors.New("quantiles of a family are of several draws")
		}
		left[family]--
	}
	for _, n := range left {
		if n != 0 {
			return errors.New("a family is not drawn as a whole")
		}
	}
	return nil
}

// thresholds are those of counts that select groups, each for its part of the δ that no other selection has: of a group
// of one unit, which moves the count by 1.
func (r *Receipt) thresholds(blocks []int, delta float64) error {
	for _, b := range blocks {
		by := r.plan.Blocks[b].SelectBy - 1
		count := r.left[[2]int{b, by}]
		if count == nil || r.plan.Blocks[b].Releases[by].Sensitivity != 1 || !(delta > 0) {
			return errors.New("no count of units selects the groups")
		}
		t, err := count.CountThreshold(delta)
		if err != nil {
			return err
		}
		r.least[b] = t
	}
	return nil
}

// errUnpaid means that something was to be drawn that no receipt is for, or was drawn before. It never reaches a
// client.
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
