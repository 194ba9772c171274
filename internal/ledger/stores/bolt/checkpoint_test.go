package bolt

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/accounting"
	"github.com/dpproxy/dpproxy/internal/ledger/ledgertest"
	"github.com/dpproxy/dpproxy/internal/mechanism"
)

// checkpointed makes a ledger with checkpoints every four records of alice's: 5 and 10, of 12; and a curve.
func checkpointed(t *testing.T) (path string, c ledger.Config) {
	t.Helper()
	path, c = filepath.Join(t.TempDir(), "ledger"), ledgertest.PureConfig(100)
	c.Checkpoint = 4
	s, err := Open(path, c)
	if err != nil {
		t.Fatal(err)
	}
	charge := ledgertest.PureCharge(0.25)
	charge.Curve = mechanism.PureCurve(0.25)
	for range 9 {
		if _, err := s.Spend(context.Background(), "alice", []ledger.Charge{charge}); err != nil {
			t.Fatal(err)
		}
	}
	if r, err := s.Verify(context.Background()); err != nil || r.Checkpoints != 2 || r.Records != 13 {
		t.Fatalf("%+v, %v", r, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path, c
}

// forge changes a file through bbolt, so that all its pages are sound.
func forge(t *testing.T, path string, change func(tx *bbolt.Tx) error) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Update(change); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// flip changes a byte of a value.
func flip(b *bbolt.Bucket, key []byte, at int) error {
	v := bytes.Clone(b.Get(key))
	v[at] ^= 1
	return b.Put(key, v)
}

func records(tx *bbolt.Tx) *bbolt.Bucket { return tx.Bucket(bucketLog).Bucket(accountKey("alice")) }

// TestForgedAfterTheCheckpoint: a start reads the latest checkpoint and what follows it, and refuses what does not
// agree.
func TestForgedAfterTheCheckpoint(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		change     func(tx *bbolt.Tx) error
	}{
		{"checkpoint changed", `account "alice", record 10: `, func(tx *bbolt.Tx) error {
			return flip(records(tx), recordKey(10), 60)
		}},
		{"checkpoint's hash changed", `account "alice", record 10: checksum`, func(tx *bbolt.Tx) error {
			return flip(records(tx), recordKey(10), len(records(tx).Get(recordKey(10)))-1)
		}},
		{"checkpoint removed", `account "alice", record 10: the checkpoint is missing`, func(tx *bbolt.Tx) error {
			return records(tx).Delete(recordKey(10))
		}},
		{"the one before it in its place", `account "alice", record 10: has number 5`, func(tx *bbolt.Tx) error {
			return records(tx).Put(recordKey(10), records(tx).Get(recordKey(5)))
		}},
		{"charge after it changed", `account "alice", record 11: checksum`, func(tx *bbolt.Tx) error {
			return flip(records(tx), recordKey(11), 20)
		}},
		{"charge after it removed", `account "alice", record 11: missing`, func(tx *bbolt.Tx) error {
			return records(tx).Delete(recordKey(11))
		}},
		{"all charges after it removed", `its totals say`, func(tx *bbolt.Tx) error {
			for n := uint64(11); n <= 12; n++ {
				if err := records(tx).Delete(recordKey(n)); err != nil {
					return err
				}
			}
			return nil
		}},
		{"curve removed", `is missing`, func(tx *bbolt.Tx) error {
			k, _ := tx.Bucket(bucketCurves).Cursor().First()
			return tx.Bucket(bucketCurves).Delete(k)
		}},
		{"curve changed", `its bytes do not match`, func(tx *bbolt.Tx) error {
			k, _ := tx.Bucket(bucketCurves).Cursor().First()
			return flip(tx.Bucket(bucketCurves), k, 7)
		}},
		{"totals of an earlier time", `its totals say`, func(tx *bbolt.Tx) error {
			return putState(tx, 10)
		}},
		{"totals of another account", `holds the account "alice"`, func(tx *bbolt.Tx) error {
			b := tx.Bucket(bucketAccounts)
			return b.Put(accountKey("bob"), b.Get(accountKey("alice")))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path, c := checkpointed(t)
			forge(t, path, tt.change)
			s, err := Open(path, c)
			if err == nil {
				s.Close()
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// putState stores the totals that alice's checkpoint of a number holds as her account's.
func putState(tx *bbolt.Tx, checkpoint uint64) error {
	payload, _, err := splitRecord(records(tx).Get(recordKey(checkpoint)))
	if err != nil {
		return err
	}
	r, err := accounting.DecodeRecord(payload)
	if err != nil {
		return err
	}
	return tx.Bucket(bucketAccounts).Put(accountKey("alice"), r.State)
}

// TestForgedBeforeTheCheckpoint: a start serves by the latest checkpoint. What is wrong before it is found right after,
// and then nobody is served.
func TestForgedBeforeTheCheckpoint(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		change     func(tx *bbolt.Tx) error
	}{
		{"charge changed", `account "alice", record 3: checksum`, func(tx *bbolt.Tx) error {
			return flip(records(tx), recordKey(3), 20)
		}},
		{"charge removed", `account "alice", record 4: missing`, func(tx *bbolt.Tx) error {
			return records(tx).Delete(recordKey(4))
		}},
		{"earlier checkpoint changed", `account "alice", record 5: checksum`, func(tx *bbolt.Tx) error {
			return flip(records(tx), recordKey(5), 60)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path, c := checkpointed(t)
			forge(t, path, tt.change)
			s := openTest(t, path, c)
			<-s.audited
			if _, err := s.Verify(context.Background()); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("verify: %v, want %q", err, tt.want)
			}
			if err := s.usable(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the ledger is refused for %v, want %q", err, tt.want)
			}
			_, err := s.Spend(context.Background(), "alice", []ledger.Charge{ledgertest.PureCharge(1)})
			ledgertest.WantCode(t, err, "58030")
			_, err = s.Balance(context.Background(), "alice")
			ledgertest.WantCode(t, err, "58030")
		})
	}
}

// TestReopenedByCheckpoint: what a start derives from the checkpoint is what was there before, refused statements and
// periods included.
func TestReopenedByCheckpoint(t *testing.T) {
	path, c := checkpointed(t)
	clock := ledgertest.NewClock()
	clock.Set(time.Now().Add(time.Hour))
	c.Clock = clock.Now
	ctx := context.Background()
	s := openTest(t, path, c)
	if err := s.Fail(ctx, "alice", "bad"); err != nil {
		t.Fatal(err)
	}
	for range 8 { // the failure is before the latest checkpoint now
		if _, err := s.Spend(ctx, "alice", []ledger.Charge{ledgertest.PureCharge(0.25)}); err != nil {
			t.Fatal(err)
		}
	}
	before, err := s.Show(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	clock.Move(-50 * time.Hour) // the ledger's own time stays
	s = openTest(t, path, c)
	after, err := s.Show(ctx)
	if err != nil || len(after) != 1 || *after[0].EpsilonSpent != 4.25 || after[0].Records != before[0].Records ||
		after[0].Refused != 1 || after[0].FailuresUsed != 1 {
		t.Errorf("%+v, %v, want %+v", after, err, before)
	}
	if failed, err := s.Failed(ctx, "alice", "bad"); !failed || err != nil {
		t.Errorf("the failed statement is forgotten (%v)", err)
	}
	if h, err := s.History(ctx, "alice", 0); err != nil || len(h) != 17 {
		t.Errorf("history of %d charges, %v, want 17", len(h), err)
	}
}
