package engine

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/golang-lru/v2/expirable"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// lookupLife is how long a public domain or key list is taken for current. The content is part of every plan's
// fingerprint, so a stale one is an older question, never a wrong answer.
const lookupLife = 10 * time.Second

// lookupCacheSize is the number of lists kept.
const lookupCacheSize = 256

// lookups caches what plans read of public data.
type lookups struct {
	domains *expirable.LRU[lookupKey, []string]
	keys    *expirable.LRU[lookupKey, [][]*string]
}

type lookupKey struct {
	column   policy.ColumnOf
	sql      string
	settings backend.Settings
}

func newLookups() *lookups {
	return &lookups{
		domains: expirable.NewLRU[lookupKey, []string](lookupCacheSize, nil, lookupLife),
		keys:    expirable.NewLRU[lookupKey, [][]*string](lookupCacheSize, nil, lookupLife),
	}
}

// lookup implements rewrite.Lookup for one statement.
type lookup struct {
	ctx      context.Context
	state    *state
	settings backend.Settings
}

func (l lookup) Distinct(column policy.ColumnOf) ([]string, error) {
	key := lookupKey{column: column, settings: l.settings}
	if values, ok := l.state.lookups.domains.Get(key); ok {
		return values, nil
	}
	values, err := l.state.backend.Distinct(l.ctx, column, l.settings)
	if err == nil {
		l.state.lookups.domains.Add(key, values)
	}
	return values, err
}

func (l lookup) Rows(q rewrite.SQL) ([][]*string, error) {
	key := lookupKey{sql: sqlKey(q), settings: l.settings}
	if rows, ok := l.state.lookups.keys.Get(key); ok {
		return rows, nil
	}
	rows, err := l.state.backend.Text(l.ctx, q, l.settings)
	if err == nil {
		l.state.lookups.keys.Add(key, rows)
	}
	return rows, err
}

// Literal asks the shadow each time: the clock is read this way too.
func (l lookup) Literal(oid uint32, text string) (string, error) {
	rows, err := l.state.backend.Text(l.ctx, rewrite.SQL{Text: "SELECT $1::pg_catalog.text", Parameters: []rewrite.Parameter{{Type: oid, Value: &text}}}, canonicalSettings(l.settings))
	if err != nil {
		return "", err
	}
	return *rows[0][0], nil // input functions of a type's text give no NULL
}

// sqlKey names a query with its values.
func sqlKey(q rewrite.SQL) string {
	var b strings.Builder
	b.WriteString(q.Text)
	for _, p := range q.Parameters {
		b.WriteString("\x00" + strconv.FormatUint(uint64(p.Type), 10))
		b.WriteString(keyName([]*string{p.Value}))
	}
	return b.String()
}
