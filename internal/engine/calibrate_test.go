package engine

import (
	"context"
	"errors"
	"testing"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// polled is a context that counts how often it is looked at, and ends after some of these.
type polled struct {
	context.Context
	polls, last int // 0: it never ends
}

var errEnded = errors.New("the context has ended")

func (p *polled) Err() error {
	p.polls++
	if p.last > 0 && p.polls >= p.last {
		return errEnded
	}
	return nil
}

func (p *polled) Value(any) any { return nil }

// TestCalibrationStops: before each calibration the context is looked at, and where it has ended nothing more is
// calibrated, nor is another reason given.
func TestCalibrationStops(t *testing.T) {
	plan := statementOf(0, mechanism.Release{})
	for i := range int64(40) {
		r := countUpTo(1000000 + i)
		r.Sensitivity = 1 + i
		plan.Blocks[0].Releases = append(plan.Blocks[0].Releases, r)
	}
	plan.EpsilonMax = 50
	b := budgetOf(policy.RDP, 20, .5)
	b.most = plan.EpsilonMax
	share := func(ctx context.Context) error {
		_, err := shareBudget(ctx, plan, b)
		return err
	}
	search := func(ctx context.Context) error {
		within, err := wantedMargin{text: "200", value: 200}.budgetFor(ctx, plan, b)
		if err != nil {
			return err
		}
		_, err = shareBudget(ctx, plan, within)
		return err
	}
	for name, run := range map[string]func(context.Context) error{"an epsilon": share, "a margin": search} {
		whole := &polled{Context: context.Background()}
		if err := run(whole); err != nil || whole.polls < 40 {
			t.Fatalf("%s: %d looks, %v", name, whole.polls, err)
		}
		for _, last := range []int{1, whole.polls / 3, whole.polls - 1} {
			c := &polled{Context: context.Background(), last: last}
			if err := run(c); !errors.Is(err, errEnded) {
				t.Errorf("%s, ended at look %d of %d: %v", name, last, whole.polls, err)
			}
			if more := c.polls - last; more > 100 {
				t.Errorf("%s, ended at look %d of %d: %d more", name, last, whole.polls, more)
			}
		}
	}
}
