package release

import (
	"slices"

	"github.com/dpproxy/dpproxy/internal/rewrite/aggregate"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// Over no rows an aggregate but a count is NULL. Whether there are rows is a secret, which a released count tells
// (docs/privacy.md P17c).

// counted finds a released number of the rows, or of their units, where a condition holds; −1: there is none.
func (k *Block) counted(condition query.Scalar) int {
	for _, what := range []string{"count ", "units "} {
		if i, ok := k.index[what+query.Key(condition)]; ok {
			return i
		}
	}
	return -1
}

// haveRows reports whether groups without rows are not shown.
func (k *Block) haveRows() bool { return k.DropsEmpty || k.Selected }

// isGroupCount reports whether a group is shown because there are rows, and this is the count of them.
func (k *Block) isGroupCount(count int) bool { return k.haveRows() && count == k.counted(nil) }

// someRows says that there are rows, by a count of them. That of all rows of a group is not 0 where the group is shown.
func (k *Block) someRows(count int) query.Scalar {
	if k.isGroupCount(count) {
		return query.F("{} > 0", ReleasedColumn(count))
	}
	return query.F("{} > {}", ReleasedColumn(count), k.derive(count, aggregate.DerivedThreshold))
}

// nullOverNothing makes the values of a call NULL where a released count of its rows, or of all, cannot be told from
// that of none. It returns the count; −1 where none tells, or the group is shown because there are rows.
func (k *Block) nullOverNothing(c *aggregate.Call, condition, value query.Scalar) (out query.Scalar, count int) {
	count = k.counted(condition)
	if count < 0 && !k.haveRows() {
		count = k.counted(nil)
	}
	switch {
	case k.Source.Empty, count >= 0 && k.isGroupCount(count), count < 0 && k.haveRows() && c.Filter == nil:
		return value, -1
	case count < 0:
		if !slices.Contains(k.untold, c.Text) {
			k.untold = append(k.untold, c.Text)
		}
		return value, -1
	}
	return query.F("CASE WHEN {} THEN {} END", k.someRows(count), value), count
}
