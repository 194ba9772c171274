package engine

import (
	"context"
	"time"

	"github.com/hashicorp/golang-lru/v2/expirable"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// lookupLife bounds the age of a public domain or key list. Its content is part of every plan's fingerprint, so a stale one
// makes an older question, never a wrong answer.
const lookupLife = 10 * time.Second

const lookupCacheSize = 256

// lookups caches the lists that plans read from public tables and from the shadow.
type lookups struct {
	domains *expirable.LRU[policy.ColumnOf, []rewrite.Canonical]
	rows    *expirable.LRU[rowsKey, [][]*rewrite.Canonical]
}

// rowsKey names a query and the settings under which its constants are read.
type rowsKey struct {
	sql      string
	settings backend.Settings
}

func newLookups() *lookups {
	return &lookups{
		domains: expirable.NewLRU[policy.ColumnOf, []rewrite.Canonical](lookupCacheSize, nil, lookupLife),
		rows:    expirable.NewLRU[rowsKey, [][]*rewrite.Canonical](lookupCacheSize, nil, lookupLife),
	}
}

// lookup implements rewrite.Lookup for one statement.
type lookup struct {
	ctx      context.Context
	state    *state
	settings backend.Settings
}

func (l lookup) Distinct(column policy.ColumnOf, oid uint32) ([]rewrite.Canonical, error) {
	if values, ok := l.state.lookups.domains.Get(column); ok {
		return values, nil
	}
	values, err := l.state.databases.Distinct(l.ctx, column, oid, l.settings)
	if err == nil {
		l.state.lookups.domains.Add(column, values)
	}
	return values, err
}

func (l lookup) Rows(q rewrite.Query) ([][]*rewrite.Canonical, error) {
	key := rowsKey{q.SQL, l.settings}
	if rows, ok := l.state.lookups.rows.Get(key); ok {
		return rows, nil
	}
	rows, err := l.state.databases.Evaluate(l.ctx, q, l.settings)
	if err == nil {
		l.state.lookups.rows.Add(key, rows)
	}
	return rows, err
}

// Literal asks the shadow each time: the clock is read this way too.
func (l lookup) Literal(oid uint32, text string) (rewrite.Canonical, error) {
	values, err := l.state.databases.Read(l.ctx, [][]byte{[]byte(text)}, nil, []uint32{oid}, l.settings)
	if err != nil {
		return "", err
	}
	return *values[0], nil // input functions of a type's text give no NULL
}
