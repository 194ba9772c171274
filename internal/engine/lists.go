package engine

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/golang-lru/v2/expirable"
)

// lists caches what a few of may be long: it forgets the oldest where all together are longer than most.
type lists[K comparable, V any] struct {
	adding sync.Mutex
	cache  *expirable.LRU[K, V]
	length func(V) int
	most   int64
	held   atomic.Int64 // length of all
}

// newLists keeps so many for so long; 0: until others take their place.
func newLists[K comparable, V any](count int, life time.Duration, most int64, length func(V) int) *lists[K, V] {
	l := &lists[K, V]{length: length, most: most}
	l.cache = expirable.NewLRU(count, func(_ K, list V) { l.held.Add(-int64(length(list))) }, life)
	return l
}

func (l *lists[K, V]) get(key K) (V, bool) { return l.cache.Get(key) }

func (l *lists[K, V]) add(key K, list V) {
	l.adding.Lock()
	defer l.adding.Unlock()
	l.cache.Remove(key)
	length := int64(l.length(list))
	for l.held.Load()+length > l.most && l.cache.Len() > 0 {
		l.cache.RemoveOldest()
	}
	l.held.Add(length)
	l.cache.Add(key, list)
}
