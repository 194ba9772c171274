package backend

import (
	"errors"
	"slices"
	"strconv"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// A text that repeats is prepared on the connections that it comes to: PostgreSQL parses and describes it once, and
// plans it once where it has no parameters, or where it finds that their values make no difference. Values that are
// long, as lists of keys are, do make one: such a text is planned for them each time.
//
// A statement belongs to its pins, since constants are read under them, and is prepared anew after statementLife. A
// text whose constants may read the clock is none.

const (
	keptStatements = 64          // on each connection. A server takes some 50 kB for one
	seenStatements = 512         // texts of a pool that are known to have come
	statementBytes = 8 << 10     // of the longest text, with its types
	valueBytes     = 1 << 10     // of the longest values together
	statementLife  = time.Minute // what tables, views and time zones mean may change
)

// statementKey says which texts are the same statement.
type statementKey struct {
	sql, types string
	pins       *pinSet
}

// statement is a text on a connection.
type statement struct {
	name    string // empty: it is not prepared
	made    time.Time
	parsed  bool                      // it is prepared
	columns []pgconn.FieldDescription // in format 0; nil: it is not described
}

// statements are what is prepared on a connection.
type statements struct {
	byKey   *simplelru.LRU[statementKey, *statement]
	named   int
	dropped []string // names of what is not kept any more, to be closed with the next message
}

func newStatements() *statements {
	s := &statements{}
	s.byKey, _ = simplelru.NewLRU(keptStatements, func(_ statementKey, old *statement) { // fails for a size below 1 alone
		s.dropped = append(s.dropped, old.name)
	})
	return s
}

// seen are the texts that have come to a pool.
type seen = lru.Cache[statementKey, struct{}]

func newSeen() *seen {
	s, _ := lru.New[statementKey, struct{}](seenStatements) // fails for a size below 1 alone
	return s
}

// short reports whether values may be those of a prepared statement.
func short(values [][]byte) bool {
	n := 0
	for _, v := range values {
		n += len(v)
	}
	return n <= valueBytes
}

// find returns the statement of a text that means the same whenever it is parsed: prepared, to be prepared now, or none
// because it has not come before.
func (k *pinned) find(p *pool, key statementKey) *statement {
	if k.local() || len(key.sql)+len(key.types) > statementBytes {
		return &statement{}
	}
	if s, ok := k.statements.byKey.Get(key); ok {
		if time.Since(s.made) < statementLife {
			return s
		}
		k.statements.byKey.Remove(key)
	}
	if known, _ := p.seen.ContainsOrAdd(key, struct{}{}); !known {
		return &statement{}
	}
	k.statements.named++
	return &statement{name: "dpproxy_" + strconv.Itoa(k.statements.named), made: time.Now()}
}

// drops returns the names of statements that are to be closed.
func (k *pinned) drops() []string {
	list := k.statements.dropped
	k.statements.dropped = nil
	return list
}

// prepared notes that a statement has been parsed.
func (k *pinned) prepared(key statementKey, s *statement) {
	if s.name != "" {
		if old, ok := k.statements.byKey.Peek(key); ok { // a message may have the same text twice
			k.statements.dropped = append(k.statements.dropped, old.name)
		}
		s.parsed = true
		k.statements.byKey.Add(key, s)
	}
}

// messages execute a statement: they parse it where that is to be done, and describe it where its columns are not
// known.
func (s *statement) messages(sql string, types []uint32, bind pgproto3.Bind) []pgproto3.FrontendMessage {
	var list []pgproto3.FrontendMessage
	if !s.parsed {
		list = append(list, &pgproto3.Parse{Name: s.name, Query: sql, ParameterOIDs: types})
	}
	bind.PreparedStatement = s.name
	list = append(list, &bind)
	if s.columns == nil {
		list = append(list, &pgproto3.Describe{ObjectType: 'P'})
	}
	return append(list, &pgproto3.Execute{})
}

// formatted gives columns the formats of a Bind.
func formatted(columns []pgconn.FieldDescription, formats []int16) []pgconn.FieldDescription {
	out := slices.Clone(columns)
	for i := range out {
		out[i].Format = FormatAt(formats, i)
	}
	return out
}

// forget makes a statement be prepared anew that PostgreSQL does not execute as it was prepared. It says whether that
// is why it failed.
func (k *pinned) forget(key statementKey, err error) bool {
	var refused *pgconn.PgError
	if !errors.As(err, &refused) || refused.Code != pgerr.FeatureNotSupported &&
		refused.Code != pgerr.InvalidStatementName {
		return false
	}
	return k.statements.byKey.Remove(key)
}

// typesKey is equal for equal types.
func typesKey(types []uint32) string {
	var key []byte
	for _, t := range types {
		key = append(strconv.AppendUint(key, uint64(t), 36), ' ')
	}
	return string(key)
}
