package bolt

import (
	"bytes"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/dpproxy/dpproxy/internal/ledger/accounting"
	"github.com/dpproxy/dpproxy/internal/ledger/stores/answers"
)

// load reads the whole ledger and derives every total.
func (s *Store) load() error {
	return s.db.View(func(tx *bbolt.Tx) error {
		for _, name := range [][]byte{bucketMeta, bucketLog, bucketAccounts, bucketAnswers, bucketExpiry} {
			if tx.Bucket(name) == nil {
				return fmt.Errorf("ledger %s: it is a bbolt file but no ledger: it has no bucket %q", s.path, name)
			}
		}
		meta := tx.Bucket(bucketMeta)
		if v := meta.Get(metaFormat); !bytes.Equal(v, []byte{accounting.FormatVersion}) {
			return fmt.Errorf("ledger %s has format %v; this version knows %d", s.path, v, accounting.FormatVersion)
		}
		if !bytes.Equal(meta.Get(metaOrders), accounting.EncodeOrders()) {
			return fmt.Errorf("ledger %s was made by a version of dpproxy with other Rényi orders: export it, and start a new one", s.path)
		}
		var err error
		if s.sealer, err = answers.NewSealer(bytes.Clone(meta.Get(metaKey))); err != nil {
			return fmt.Errorf("ledger %s, bucket meta, key of the answers: %w", s.path, err)
		}
		d, err := derive(tx)
		if err != nil {
			return fmt.Errorf("ledger %s is damaged: %w. "+repairHint, s.path, err)
		}
		s.accounts, s.refused = d.Accounts, d.Refused
		return nil
	})
}

// derive adds up all records and compares the totals with the accounts that are stored with them.
func derive(tx *bbolt.Tx) (*accounting.Derivation, error) {
	d := accounting.NewDerivation()
	logs := tx.Bucket(bucketLog)
	err := logs.ForEachBucket(func(key []byte) error {
		name, ok := accountName(key)
		if !ok {
			return fmt.Errorf("bucket log: %q is not an account", key)
		}
		return addRecords(d, name, logs.Bucket(key))
	})
	if err != nil {
		return d, err
	}
	d.Finish()
	stored := make(map[string]accounting.Account)
	err = tx.Bucket(bucketAccounts).ForEach(func(key, value []byte) error {
		name, ok := accountName(key)
		if !ok {
			return fmt.Errorf("bucket accounts: %q is not an account", key)
		}
		a, err := accounting.DecodeAccount(name, value)
		if err != nil {
			return fmt.Errorf("bucket accounts, key %q: %w", key, err)
		}
		stored[name] = a
		return nil
	})
	if err != nil {
		return d, err
	}
	return d, d.Compare(stored)
}

// addRecords adds up the records of one account, which must be numbered without gaps.
func addRecords(d *accounting.Derivation, name string, log *bbolt.Bucket) error {
	return log.ForEach(func(key, value []byte) error {
		due := d.Next(name)
		if !bytes.Equal(key, recordKey(due)) {
			return accounting.RecordError(name, due, fmt.Errorf("missing, the next key is %x", key))
		}
		payload, stored, err := splitRecord(value)
		if err != nil {
			return accounting.RecordError(name, due, err)
		}
		return d.Add(name, payload, stored)
	})
}
