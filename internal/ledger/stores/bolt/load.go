package bolt

import (
	"bytes"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/dpproxy/dpproxy/internal/ledger/accounting"
	"github.com/dpproxy/dpproxy/internal/ledger/stores/answers"
)

// load derives every total from the latest checkpoints and the records that follow them.
func (s *Store) load() error {
	return s.db.View(func(tx *bbolt.Tx) error {
		for _, name := range buckets {
			if tx.Bucket(name) == nil {
				return fmt.Errorf("ledger %s: it is a bbolt file but no ledger: it has no bucket %q", s.path, name)
			}
		}
		meta := tx.Bucket(bucketMeta)
		if v := meta.Get(metaFormat); !bytes.Equal(v, []byte{accounting.FormatVersion}) {
			return fmt.Errorf("ledger %s has format %v; this version knows %d", s.path, v, accounting.FormatVersion)
		}
		if !bytes.Equal(meta.Get(metaOrders), accounting.EncodeOrders()) {
			return fmt.Errorf(
				"ledger %s was made by a version of dpproxy with other Rényi orders: export it, and start a new one", s.path)
		}
		var err error
		if s.sealer, err = answers.NewSealer(bytes.Clone(meta.Get(metaKey))); err != nil {
			return fmt.Errorf("ledger %s, bucket meta, key of the answers: %w", s.path, err)
		}
		d, err := derive(tx, false, func() error { return nil })
		if err != nil {
			return fmt.Errorf("ledger %s is damaged: %w. "+repairHint, s.path, err)
		}
		s.accounts = d.Accounts
		return nil
	})
}

// derive adds up records and compares the totals with the accounts that are stored with them: all records, or those of
// each account that follow its latest checkpoint. It ends early if stop returns an error.
func derive(tx *bbolt.Tx, all bool, stop func() error) (*accounting.Derivation, error) {
	d := accounting.NewDerivation(curvesOf(tx))
	stored, err := storedAccounts(tx)
	if err != nil {
		return d, err
	}
	logs := tx.Bucket(bucketLog)
	err = logs.ForEachBucket(func(key []byte) error {
		name, ok := accountName(key)
		if !ok {
			return fmt.Errorf("bucket log: %q is not an account", key)
		}
		from := stored[name].Checkpoint
		if all {
			from = 0
		}
		return addRecords(d, name, logs.Bucket(key), from, stop)
	})
	if err != nil {
		return d, err
	}
	d.Finish()
	return d, d.Compare(stored)
}

// storedAccounts reads all accounts.
func storedAccounts(tx *bbolt.Tx) (map[string]accounting.Account, error) {
	stored := make(map[string]accounting.Account)
	err := tx.Bucket(bucketAccounts).ForEach(func(key, value []byte) error {
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
	return stored, err
}

// addRecords adds up the records of one account, which must be numbered without gaps, from the checkpoint with a number
// on; 0: from the first.
func addRecords(d *accounting.Derivation, name string, log *bbolt.Bucket, checkpoint uint64, stop func() error) error {
	cursor := log.Cursor()
	key, value := cursor.First()
	if checkpoint > 0 {
		key, value = cursor.Seek(recordKey(checkpoint))
		if !bytes.Equal(key, recordKey(checkpoint)) {
			return accounting.RecordError(name, checkpoint, errors.New("the checkpoint is missing"))
		}
		payload, stored, err := splitRecord(value)
		if err == nil {
			err = d.Resume(name, checkpoint, payload, stored)
		}
		if err != nil {
			return err
		}
		key, value = cursor.Next()
	}
	for ; key != nil; key, value = cursor.Next() {
		due := d.Next(name)
		if !bytes.Equal(key, recordKey(due)) {
			return accounting.RecordError(name, due, fmt.Errorf("missing, the next key is %x", key))
		}
		payload, stored, err := splitRecord(value)
		if err != nil {
			return accounting.RecordError(name, due, err)
		}
		if err := errors.Join(d.Add(name, payload, stored), stop()); err != nil {
			return err
		}
	}
	return nil
}
