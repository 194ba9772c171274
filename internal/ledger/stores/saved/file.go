package saved

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"go.etcd.io/bbolt"
)

// lockWait bounds how long a start waits for a proxy that is being replaced.
const lockWait = 2 * time.Second

var bucket = []byte("questions")

// file is a bbolt file: database, a zero byte and analyst → list.
type file struct{ db *bbolt.DB }

func openFile(path string) (lists, error) {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: lockWait})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(bucket)
		return err
	})
	if err != nil {
		db.Close()
		return nil, err
	}
	return file{db}, nil
}

func (o Owner) key() []byte { return []byte(o.Database + "\x00" + o.Analyst) }

func (f file) get(_ context.Context, o Owner) (text []byte, err error) {
	err = f.db.View(func(tx *bbolt.Tx) error {
		text = bytes.Clone(tx.Bucket(bucket).Get(o.key()))
		return nil
	})
	return text, err
}

func (f file) swap(_ context.Context, o Owner, old, fresh []byte) (done bool, err error) {
	err = f.db.Update(func(tx *bbolt.Tx) error {
		if done = bytes.Equal(tx.Bucket(bucket).Get(o.key()), old); !done {
			return nil
		}
		return tx.Bucket(bucket).Put(o.key(), fresh)
	})
	return done, err
}

func (f file) close() error { return f.db.Close() }
