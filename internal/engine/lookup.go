package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/golang-lru/v2/expirable"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// lookupLife bounds the age of a public domain or key list. Its content is part of every plan's fingerprint, so a stale
// one makes an older question, never a wrong answer.
const lookupLife = 10 * time.Second

const lookupCacheSize = 256

// cachedValues bounds what the lists of one kind hold together: some 100 MB.
const cachedValues = 1_000_000

// planBytes bounds the plans that are kept, and as much with mechanisms: these keep their plan.
const planBytes = 32 << 20

// lookups caches the lists that plans read from public tables and from the shadow, and what statements that repeat need
// (repeat.go).
type lookups struct {
	domains   *lists[policy.ColumnOf, []rewrite.Canonical]
	rows      *lists[rowsKey, *rewrite.Table]
	listed    *lists[rowsKey, [][]*rewrite.Canonical]
	constants *expirable.LRU[constantsKey, *backend.Constants]
	plans     *lists[planKey, *rewrite.Plan]
	choices   *lists[choiceKey, *calibrated]
}

// rowsKey names a query, where it runs, and the settings under which its constants are read.
type rowsKey struct {
	sql      string
	public   bool
	settings backend.Settings
}

func newLookups() *lookups {
	return &lookups{
		domains: newLists[policy.ColumnOf](lookupCacheSize, lookupLife, cachedValues, func(list []rewrite.Canonical) int {
			return len(list)
		}),
		rows: newLists[rowsKey](lookupCacheSize, lookupLife, cachedValues, (*rewrite.Table).Len),
		listed: newLists[rowsKey](lookupCacheSize, lookupLife, cachedValues, func(list [][]*rewrite.Canonical) int {
			return len(list)
		}),
		constants: expirable.NewLRU[constantsKey, *backend.Constants](lookupCacheSize, nil, lookupLife),
		plans:     newLists[planKey](lookupCacheSize, lookupLife, planBytes, (*rewrite.Plan).Bytes),
		choices:   newLists[choiceKey](lookupCacheSize, lookupLife, planBytes, (*calibrated).bytes),
	}
}

// lookup implements rewrite.Lookup for one statement.
type lookup struct {
	ctx      context.Context
	state    *state
	settings backend.Settings
	call     *call
	asked    rewrite.Constants  // what the statement's analysis has foreseen
	answers  *backend.Constants // to that
	literals *int               // how many others were asked for
}

// foreseen says that a plan needed no literal beyond those in the key: another may be the time.
func (l lookup) foreseen() bool { return *l.literals == 0 }

// key is equal for values and constants that plan alike.
func (l lookup) key() string {
	return canonicalKey(l.answers.Parameters) + canonicalKey(l.answers.Literals) + canonicalKey(l.answers.Expressions)
}

// canonicalKey is equal for equal values.
func canonicalKey(values []*rewrite.Canonical) string {
	var key strings.Builder
	for _, v := range values {
		if v == nil {
			key.WriteString("-")
			continue
		}
		fmt.Fprintf(&key, "%d:%s", len(*v), *v)
	}
	return key.String() + ";"
}

func (l lookup) Distinct(column policy.ColumnOf, oid uint32) ([]rewrite.Canonical, error) {
	if err := l.call.engine.mayRead(rewrite.RoutePublic); err != nil {
		return nil, err
	}
	if values, ok := l.state.lookups.domains.get(column); ok {
		return values, nil
	}
	values, err := l.state.databases.Distinct(l.ctx, column, oid, l.settings)
	if err == nil {
		l.state.lookups.domains.add(column, values)
	}
	return values, err
}

func (l lookup) Rows(q rewrite.Query) (*rewrite.Table, error) {
	return l.cached(q, false, l.state.databases.Evaluate)
}

func (l lookup) PublicRows(q rewrite.Query) (*rewrite.Table, error) {
	if err := l.call.engine.mayRead(rewrite.RoutePublic); err != nil {
		return nil, err
	}
	return l.cached(q, true, l.state.databases.PublicRows)
}

// cached asks a database what nobody has asked of late.
func (l lookup) cached(q rewrite.Query, public bool, ask func(context.Context, rewrite.Query, backend.Settings) (
	*rewrite.Table, error),
) (*rewrite.Table, error) {
	key := rowsKey{q.SQL, public, l.settings}
	if rows, ok := l.state.lookups.rows.get(key); ok {
		return rows, nil
	}
	rows, err := ask(l.ctx, q, l.settings)
	if err == nil {
		l.state.lookups.rows.add(key, rows)
	}
	return rows, err
}

// keptBytes bounds what is kept of the rows of one query of a client's: who writes it says how long they are.
const keptBytes = 1 << 20

// Listed runs a query of the client's own, as one that reads public tables alone is run: under the client's settings,
// and as one of the statements that the analyst may run at a time. One that reads the clock is asked each time.
func (l lookup) Listed(q rewrite.ClientQuery) ([][]*rewrite.Canonical, error) {
	if err := l.call.engine.mayRead(q.On); err != nil {
		return nil, err
	}
	r := backend.Request{SQL: q.SQL, Settings: l.settings}
	var values []*rewrite.Canonical
	for _, n := range q.Parameters {
		values = append(values, l.answers.Parameters[n-1])
		r.Parameters, r.Formats = append(r.Parameters, l.call.values[n-1]),
			append(r.Formats, backend.FormatAt(l.call.formats, n-1))
		r.Types = append(r.Types, l.call.analysis.parameters[n-1])
	}
	key := rowsKey{q.SQL + canonicalKey(values), q.On == rewrite.RoutePublic, l.settings}
	if q.Clock {
		*l.literals++
	} else if rows, ok := l.state.lookups.listed.get(key); ok {
		return rows, nil
	}
	release, err := l.state.quotas[q.On].Acquire(l.ctx, l.call.scope.Analyst)
	if err != nil {
		return nil, err
	}
	defer release()
	rows, err := l.state.databases.StageRows(l.ctx, q.On, r, q.Columns, q.List)
	if err == nil && !q.Clock && bytesOf(rows)+len(key.sql) <= keptBytes {
		l.state.lookups.listed.add(key, rows)
	}
	return rows, err
}

// bytesOf is how long values are together.
func bytesOf(rows [][]*rewrite.Canonical) (n int) {
	for _, row := range rows {
		for _, v := range row {
			if v != nil {
				n += len(*v)
			}
		}
	}
	return n
}

// Literal asks the shadow for what was not foreseen, each time: the clock is read this way too.
func (l lookup) Literal(oid uint32, text string) (rewrite.Canonical, error) {
	if n := slices.Index(l.asked.Literals, rewrite.Literal{Type: oid, Text: text}); n >= 0 && n < len(l.answers.Literals) {
		return *l.answers.Literals[n], nil
	}
	*l.literals++
	one := rewrite.Constants{Literals: []rewrite.Literal{{Type: oid, Text: text}}}
	read, err := l.state.databases.Constants(l.ctx, backend.Parameters{}, one, l.settings)
	if err != nil {
		return "", err
	}
	return *read.Literals[0], nil // input functions of a type's text give no NULL
}

// Expression answers what was foreseen.
func (l lookup) Expression(n int) (value *rewrite.Canonical, known bool) {
	if n >= len(l.answers.Expressions) {
		return nil, false
	}
	return l.answers.Expressions[n], true
}

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
