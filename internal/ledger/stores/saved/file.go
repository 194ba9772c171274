package saved

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"syscall"
	"time"

	"go.etcd.io/bbolt"

	"github.com/dpproxy/dpproxy/internal/ledger/pagecheck"
)

// lockWait bounds how long a start waits for a proxy that is being replaced.
const lockWait = 2 * time.Second

var bucket = []byte("questions")

// file is a bbolt file: database, a zero byte and analyst → list.
type file struct{ db *bbolt.DB }

func openFile(path string, log *slog.Logger) (lists, error) {
	if err := putAside(path, log); err != nil {
		return nil, err
	}
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

// putAside renames a file that is damaged: names are no reason not to serve.
func putAside(path string, log *slog.Logger) error {
	f, err := os.Open(path)
	if err != nil {
		return nil // there is none, or bbolt says why
	}
	defer f.Close()
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return nil // another proxy may be writing it
	}
	damage := pagecheck.Check(f)
	if damage == nil {
		return nil
	}
	aside := path + ".damaged-" + time.Now().UTC().Format("20060102T150405.000000")
	log.Error("the file of saved questions is damaged; all begin anew without any. Restore a copy in its place, and restart",
		"file", path, "kept_as", aside, "damage", damage)
	return os.Rename(path, aside)
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
