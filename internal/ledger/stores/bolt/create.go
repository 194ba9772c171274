package bolt

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"go.etcd.io/bbolt"

	"github.com/dpproxy/dpproxy/internal/ledger/accounting"
	"github.com/dpproxy/dpproxy/internal/ledger/pagecheck"
	"github.com/dpproxy/dpproxy/internal/ledger/stores/answers"
)

// repairHint ends the error of a damaged file.
const repairHint = "Nothing was changed. Restore a copy, or see docs/budget.md, «A damaged file»"

// prepareFile makes a new ledger if there is none, and otherwise checks the pages of the file. A new ledger gets its
// name only when it is complete and on disk, so an empty or incomplete file is always damage.
func prepareFile(path string, log *slog.Logger) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return createFile(path)
	}
	if err != nil {
		return fmt.Errorf("ledger %s: %w", path, err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("ledger %s is not a regular file", path)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 { // for example a restored copy
		if err := os.Chmod(path, 0o600); err != nil {
			return fmt.Errorf("ledger %s: other users may read or write it (mode %04o): %w", path, mode, err)
		}
		log.Warn("other users could read or write the ledger; its mode is now 0600", "file", path, "mode",
			fmt.Sprintf("%04o", mode))
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("ledger %s: %w", path, err)
	}
	defer f.Close()
	if err := lockFile(f); err != nil {
		return errInUse(path)
	}
	if err := pagecheck.Check(f); err != nil {
		return fmt.Errorf("ledger %s is damaged: %w. "+repairHint, path, err)
	}
	return nil
}

// lockFile retries until lockWait is over.
func lockFile(f *os.File) error {
	const pause = 20 * time.Millisecond
	for waited := time.Duration(0); ; waited += pause {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil || waited >= lockWait {
			return err
		}
		time.Sleep(pause)
	}
}

// createFile writes an empty ledger under a temporary name and moves it into place.
func createFile(path string) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-*")
	if err != nil {
		return fmt.Errorf("ledger %s cannot be created: %w", path, err)
	}
	defer os.Remove(f.Name())
	if err := errors.Join(giveToOwner(f), f.Close()); err != nil {
		return fmt.Errorf("ledger %s cannot be created: %w", path, err)
	}
	db, err := bbolt.Open(f.Name(), 0o600, nil)
	if err != nil {
		return fmt.Errorf("ledger %s cannot be created: %w", path, err)
	}
	err = errors.Join(db.Update(func(tx *bbolt.Tx) error {
		for _, name := range buckets {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		key, err := answers.NewKey()
		if err != nil {
			return err
		}
		meta := tx.Bucket(bucketMeta)
		return errors.Join(
			meta.Put(metaFormat, []byte{accounting.FormatVersion}), meta.Put(metaOrders, accounting.EncodeOrders()),
			meta.Put(metaKey, key))
	}), db.Close())
	if err == nil {
		err = moveIntoPlace(f.Name(), path)
	}
	if err == nil {
		err = syncFolder(filepath.Dir(path))
	}
	if err != nil {
		return fmt.Errorf("ledger %s cannot be created: %w", path, err)
	}
	return nil
}

// giveToOwner makes a file that root creates that of the folder's owner: what an administrator charges before the
// service has run belongs to the service.
func giveToOwner(f *os.File) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := os.Stat(filepath.Dir(f.Name()))
	if err != nil {
		return err
	}
	owner := info.Sys().(*syscall.Stat_t)
	return f.Chown(int(owner.Uid), int(owner.Gid))
}

// moveIntoPlace renames a file but never replaces one: another process may have created the ledger in the meantime and
// charged to it.
func moveIntoPlace(from, to string) error {
	err := os.Link(from, to)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return nil
	}
	// File systems without hard links. Rename would replace a file, so look first.
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(from, to)
}

// syncFolder makes a new file name durable.
func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
