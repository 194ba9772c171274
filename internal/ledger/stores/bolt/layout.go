package bolt

import (
	"encoding/binary"
	"errors"

	"github.com/dpproxy/dpproxy/internal/ledger/accounting"
)

// The file's buckets (docs/budget.md, «Where it is kept»).
var (
	bucketMeta     = []byte("meta")     // format, orders, key of the answers
	bucketLog      = []byte("log")      // account key → bucket: number (8 bytes, big-endian) → record, chain
	bucketCurves   = []byte("curves")   // number (8 bytes, big-endian) → curve
	bucketCurveIDs = []byte("curveids") // accounting.CurveID → number
	bucketAccounts = []byte("accounts") // account key → account
	bucketAnswers  = []byte("answers")  // hash of the answer's key → expiry, sealed answer
	bucketExpiry   = []byte("expiry")   // expiry, hash → nothing
)

// buckets are those that every ledger has.
var buckets = [][]byte{bucketMeta, bucketLog, bucketCurves, bucketCurveIDs, bucketAccounts, bucketAnswers, bucketExpiry}

var (
	metaFormat = []byte("format")
	metaOrders = []byte("orders")
	metaKey    = []byte("key")
)

// accountKey returns an account's key in the file: "g" for the group, "a" and the name for an analyst.
func accountKey(name string) []byte {
	if name == accounting.GroupName {
		return []byte("g")
	}
	return append([]byte("a"), name...)
}

// accountName is the inverse of accountKey.
func accountName(key []byte) (string, bool) {
	switch {
	case string(key) == "g":
		return accounting.GroupName, true
	case len(key) > 1 && key[0] == 'a':
		return string(key[1:]), true
	}
	return "", false
}

// recordKey returns a record's key in its account's bucket. Keys sort like numbers.
func recordKey(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// splitRecord separates a stored record from the chain that follows it.
func splitRecord(value []byte) (payload []byte, stored accounting.Chain, err error) {
	if len(value) < len(stored) {
		return nil, stored, errors.New("is shorter than its chain")
	}
	payload = value[:len(value)-len(stored)]
	copy(stored[:], value[len(payload):])
	return payload, stored, nil
}
