package engine

import (
	"sync"
	"sync/atomic"

	"github.com/hashicorp/golang-lru/v2/expirable"
)

// lists caches lists of which a few may be long: it forgets the oldest where all together have more than cachedValues entries.
type lists[K comparable, V any] struct {
	adding sync.Mutex
	cache  *expirable.LRU[K, V]
	length func(V) int
	held   atomic.Int64 // entries
}

func newLists[K comparable, V any](length func(V) int) *lists[K, V] {
	l := &lists[K, V]{length: length}
	l.cache = expirable.NewLRU(lookupCacheSize, func(_ K, list V) { l.held.Add(-int64(length(list))) }, lookupLife)
	return l
}

func (l *lists[K, V]) get(key K) (V, bool) { return l.cache.Get(key) }

func (l *lists[K, V]) add(key K, list V) {
	l.adding.Lock()
	defer l.adding.Unlock()
	l.cache.Remove(key)
	length := int64(l.length(list))
	for l.held.Load()+length > cachedValues && l.cache.Len() > 0 {
		l.cache.RemoveOldest()
	}
	l.held.Add(length)
	l.cache.Add(key, list)
}
