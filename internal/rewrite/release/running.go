package release

import (
	"cmp"
	"slices"

	"github.com/dpproxy/dpproxy/internal/mechanism"
)

// Sum is a release that windows alone read, which add up its groups in one order (docs/privacy.md P20d).
type Sum struct {
	Release int
	Order   []int // all groups, those of a partition one behind the other
	Length  int   // of a partition
}

// Equal reports whether the same is added up in the same order.
func (s Sum) Equal(t Sum) bool { return s.Release == t.Release && s.Along(t) }

// Along reports whether two are added up in the same order.
func (s Sum) Along(t Sum) bool { return s.Length == t.Length && slices.Equal(s.Order, t.Order) }

// Sums finds them.
func (k *Block) Sums() (sums []Sum) {
	for i := range k.Releases {
		var windows []Window
		for _, w := range k.Windows {
			if w.Adds && slices.Equal(w.Column.Releases, []int{i}) {
				windows = append(windows, w)
			}
		}
		at := slices.IndexFunc(windows, func(w Window) bool { return w.Order > 0 })
		if at < 0 || k.readOtherwise(i, windows) || slices.ContainsFunc(windows, func(w Window) bool {
			same := w.Whole || w.Order == windows[at].Order && w.Desc == windows[at].Desc
			return !w.Alone || !same || !slices.Equal(w.Partition, windows[at].Partition)
		}) {
			continue
		}
		if order, length := k.running(windows[at]); order != nil {
			sums = append(sums, Sum{i, order, length})
		}
	}
	return sums
}

// readOtherwise reports whether an aggregate that these windows do not add up is computed of a release, or another
// release is.
func (k *Block) readOtherwise(release int, windows []Window) bool {
	for call, c := range k.Columns {
		reads := slices.Contains(c.Releases, release) || c.Rows == release+1
		if reads && !slices.ContainsFunc(windows, func(w Window) bool { return w.Call == call }) {
			return true
		}
	}
	return slices.ContainsFunc(k.Releases, func(r mechanism.Release) bool {
		return r.Kind == mechanism.SumGivenCount && r.CountRef == release
	})
}

// running lists the groups in the order of a window; nil: nobody knows that order, or the partitions are too long.
func (k *Block) running(w Window) (order []int, length int) {
	domain := func(key int) *Domain {
		return k.Domains[slices.IndexFunc(k.Domains, func(d *Domain) bool { return slices.Contains(d.At, key) })]
	}
	if k.ByKey || k.groups < 2 || !domain(w.Order-1).Sorted {
		return nil, 0
	}
	partitions := 1
	for _, key := range w.Partition {
		d := domain(key)
		if len(d.Keys) > 1 || key == w.Order-1 {
			return nil, 0
		}
		partitions *= d.Tuples.Len()
	}
	if length = int(k.groups) / partitions; length < 2 || length > mechanism.MostRunning {
		return nil, 0
	}
	places := k.Product().(*product)
	place := func(group, key int) int {
		c := places.columns[key]
		return group / c.stride % c.table.Len()
	}
	for group := range int(k.groups) {
		order = append(order, group)
	}
	slices.SortStableFunc(order, func(a, b int) int {
		for _, key := range w.Partition {
			if by := cmp.Compare(place(a, key), place(b, key)); by != 0 {
				return by
			}
		}
		if w.Desc {
			a, b = b, a
		}
		return cmp.Compare(place(a, w.Order-1), place(b, w.Order-1))
	})
	return order, length
}
