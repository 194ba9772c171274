package engine

import "testing"

// TestListsAreBounded by what they hold together: the oldest go, and a list that is added again counts once.
func TestListsAreBounded(t *testing.T) {
	l := newLists[string](lookupCacheSize, lookupLife, cachedValues, func(list []int) int { return len(list) })
	half := make([]int, cachedValues/2)
	for _, key := range []string{"a", "b", "b", "c", "c"} {
		l.add(key, half)
	}
	for key, want := range map[string]bool{"a": false, "b": true, "c": true} {
		if _, found := l.get(key); found != want {
			t.Errorf("%s is there: %v, want %v", key, found, want)
		}
	}
	if got := l.held.Load(); got != cachedValues {
		t.Errorf("%d entries are held, want %d", got, cachedValues)
	}
	l.add("all", make([]int, cachedValues+1))
	if got, n := l.held.Load(), l.cache.Len(); got != cachedValues+1 || n != 1 {
		t.Errorf("%d entries in %d lists", got, n)
	}
}
