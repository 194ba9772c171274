package mechanism

import (
	"cmp"
	"sync"
)

// memo keeps what a pure function of public quantities has given, by its arguments. It is emptied when it is full.
type memo[K comparable, V any] struct {
	most int            // the sizes of all values together; 0: mostKept
	size func(K, V) int // nil: 1

	sync.Mutex
	of   map[K]V
	held int // the sizes of all
}

const mostKept = 4096

// find gives the value of a key, which compute gives if it is not kept. Errors are not kept.
func (m *memo[K, V]) find(key K, compute func() (V, error)) (V, error) {
	m.Lock()
	v, known := m.of[key]
	m.Unlock()
	if known {
		return v, nil
	}
	v, err := compute()
	if err != nil {
		return v, err
	}
	m.Lock()
	defer m.Unlock()
	if first, known := m.of[key]; known {
		return first, nil
	}
	n := 1
	if m.size != nil {
		n = m.size(key, v)
	}
	if m.of == nil || m.held+n > cmp.Or(m.most, mostKept) {
		m.of, m.held = map[K]V{}, 0
	}
	m.of[key] = v
	m.held += n
	return v, nil
}
