package ledger

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/dpproxy/dpproxy/internal/mechanism"
)

// fileFormat is the version of the file's layout.
const fileFormat = 1

var (
	metaFormat = []byte("format")
	metaOrders = []byte("orders")
	metaKey    = []byte("key")
)

// encodeOrders returns the orders at which the ledger's divergences are, as float64 bits.
func encodeOrders() []byte {
	var b []byte
	for _, alpha := range mechanism.Orders {
		b = appendNumber(b, alpha)
	}
	return b
}

// accountKey is an account's key in the file: "g" for the group, "a" and the name for an analyst.
func accountKey(name string) []byte {
	if name == groupName {
		return []byte("g")
	}
	return append([]byte("a"), name...)
}

func recordKey(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// load reads the whole ledger and derives every total.
func (s *fileStore) load() error {
	return s.db.View(func(tx *bbolt.Tx) error {
		for _, name := range [][]byte{bucketMeta, bucketLog, bucketAccounts, bucketAnswers, bucketExpiry} {
			if tx.Bucket(name) == nil {
				return fmt.Errorf("%s is a bbolt file but not a ledger: it has no bucket %q", s.path, name)
			}
		}
		meta := tx.Bucket(bucketMeta)
		if v := meta.Get(metaFormat); !bytes.Equal(v, []byte{fileFormat}) {
			return fmt.Errorf("ledger %s has format %v; this version knows %d", s.path, v, fileFormat)
		}
		if !bytes.Equal(meta.Get(metaOrders), encodeOrders()) {
			return fmt.Errorf("ledger %s was made by a version of dpproxy with other Rényi orders: export it, and start a new one", s.path)
		}
		var err error
		if s.sealer, err = newSealer(bytes.Clone(meta.Get(metaKey))); err != nil {
			return fmt.Errorf("ledger %s, bucket meta, key of the answers: %w", s.path, err)
		}
		d, err := derive(tx)
		if err != nil {
			return fmt.Errorf("ledger %s is damaged: %w. Nothing was changed. Restore a copy, or see docs/budget.md, «A damaged file»", s.path, err)
		}
		s.book, s.refused = d.accounts, d.refused
		return nil
	})
}

// derive adds up all records and compares the totals with the accounts that are stored beside them.
func derive(tx *bbolt.Tx) (*derivation, error) {
	d := newDerivation()
	logs := tx.Bucket(bucketLog)
	// The group comes last: its sums are of the analysts' charges.
	err := logs.ForEachBucket(func(key []byte) error {
		if name, ok := accountName(key); !ok {
			return fmt.Errorf("bucket log: %q is not an account", key)
		} else if name != groupName {
			return d.replay(name, logs.Bucket(key))
		}
		return nil
	})
	if err == nil && logs.Bucket(accountKey(groupName)) != nil {
		err = d.replayGroup(logs.Bucket(accountKey(groupName)))
	}
	if err != nil {
		return d, err
	}
	stored := make(map[string]account)
	err = tx.Bucket(bucketAccounts).ForEach(func(key, value []byte) error {
		a, err := decodeAccount(value)
		if name, ok := accountName(key); err == nil && (!ok || a.name != name) {
			err = fmt.Errorf("holds account %q", a.name)
		}
		if err != nil {
			return fmt.Errorf("bucket accounts, key %q: %w", key, err)
		}
		stored[a.name] = a
		return nil
	})
	if err != nil {
		return d, err
	}
	return d, d.compare(stored)
}

// accountName undoes accountKey.
func accountName(key []byte) (string, bool) {
	switch {
	case string(key) == "g":
		return groupName, true
	case len(key) > 1 && key[0] == 'a':
		return string(key[1:]), true
	}
	return "", false
}
