package engine

import (
	"sync"
	"sync/atomic"

	"github.com/hashicorp/golang-lru/v2/expirable"
)

// lists caches lists of which a few may be long: it forgets the oldest where all together have more than cachedValues entries.
type lists[K comparable, V any] struct {
	adding sync.Mutex
	cache  *expirable.LRU[K, []V]
	held   atomic.Int64 // entries
}

func newLists[K comparable, V any]() *lists[K, V] {
	l := &lists[K, V]{}
	l.cache = expirable.NewLRU(lookupCacheSize, func(_ K, list []V) { l.held.Add(-int64(len(list))) }, lookupLife)
	return l
}

func (l *lists[K, V]) get(key K) ([]V, bool) { return l.cache.Get(key) }

func (l *lists[K, V]) add(key K, list []V) {
	l.adding.Lock()
	defer l.adding.Unlock()
	l.cache.Remove(key)
	for l.held.Load()+int64(len(list)) > cachedValues && l.cache.Len() > 0 {
		l.cache.RemoveOldest()
	}
	l.held.Add(int64(len(list)))
	l.cache.Add(key, list)
}
