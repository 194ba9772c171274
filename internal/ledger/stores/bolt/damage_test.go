package bolt

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/accounting"
	"github.com/dpproxy/dpproxy/internal/ledger/ledgertest"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// sample makes a ledger with some of everything and returns its bytes.
func sample(t testing.TB) []byte {
	t.Helper()
	path, ctx := filepath.Join(t.TempDir(), "ledger"), context.Background()
	s, err := Open(path, sampleConfig())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 60 {
		who := []string{"alice", "bob"}[i%2]
		if _, err := s.Spend(ctx, who, []ledger.Charge{ledgertest.PureCharge(0.25)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Fail(ctx, "alice", "bad"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.PutAnswer(ctx, "key", []byte("answer"), time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b[:usedBytes(t, path)]
}

// usedBytes returns how much of a file has pages. The rest is room for growth.
func usedBytes(t testing.TB, path string) (used int64) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.View(func(tx *bbolt.Tx) error { used = tx.Size(); return nil }); err != nil {
		t.Fatal(err)
	}
	return used
}

func sampleConfig() ledger.Config {
	c := ledgertest.PureConfig(100)
	c.Analysts["bob"] = policy.Budget{Epsilon: 100}
	return c
}

// survives opens a damaged file. It must either be refused, untouched, with an error that says where; or, where the
// damage hit a page that is not in use or an answer, give the very same balances.
func survives(t *testing.T, damaged []byte, what string) (refusal error) {
	t.Helper()
	path, ctx := filepath.Join(t.TempDir(), "ledger"), context.Background()
	if err := os.WriteFile(path, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(path, sampleConfig())
	if err != nil {
		if !strings.Contains(err.Error(), path) {
			t.Errorf("%s: the error does not name the file: %v", what, err)
		}
		if after, _ := os.ReadFile(path); !bytes.Equal(after, damaged) {
			t.Errorf("%s: the file was changed", what)
		}
		return err
	}
	defer s.Close()
	for _, who := range []string{"alice", "bob"} {
		if b, err := s.Balance(ctx, who); err != nil || b.EpsilonSpent != 7.5 {
			t.Errorf("%s: %s has spent %v, %v, want 7.5", what, who, b.EpsilonSpent, err)
		}
	}
	if failed, err := s.Failed(ctx, "alice", "bad"); !failed || err != nil {
		t.Errorf("%s: the failed statement is forgotten (%v)", what, err)
	}
	if _, _, err := s.Answer(ctx, "key"); err != nil {
		t.Errorf("%s: %v", what, err)
	}
	return nil
}

func TestDamagedBytes(t *testing.T) {
	whole := sample(t)
	if err := survives(t, whole, "undamaged"); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	refused, tried := 0, 0
	try := func(at int) {
		b := bytes.Clone(whole)
		b[at] ^= byte(1 << random.IntN(8))
		tried++
		if survives(t, b, fmt.Sprintf("bit flipped in byte %d", at)) != nil {
			refused++
		}
	}
	page := os.Getpagesize()
	for at := 16; at < 16+64; at++ { // both meta pages: bbolt would fall back to the commit before
		for _, b := range []int{at, page + at} {
			damaged := bytes.Clone(whole)
			damaged[b] ^= 1
			if err := survives(t, damaged, fmt.Sprintf("meta byte %d", b)); err == nil {
				t.Errorf("a damaged meta page (byte %d) was accepted", b)
			}
		}
	}
	for range 2000 {
		try(random.IntN(len(whole)))
	}
	t.Logf("%d of %d flipped bits refused, the others harmless", refused, tried)
	if refused == 0 {
		t.Error("no flipped bit was noticed")
	}
}

func TestDamagedPages(t *testing.T) {
	whole := sample(t)
	page := os.Getpagesize()
	for at := 0; at+page <= len(whole); at += page {
		for _, how := range []string{"zeroed", "ones", "previous page"} {
			b := bytes.Clone(whole)
			for i := range page {
				switch how {
				case "zeroed":
					b[at+i] = 0
				case "ones":
					b[at+i] = 0xFF
				case "previous page":
					b[at+i] = whole[(at+i-page+len(whole))%len(whole)]
				}
			}
			survives(t, b, fmt.Sprintf("page %d %s", at/page, how))
		}
	}
}

func TestTruncatedFile(t *testing.T) {
	whole := sample(t)
	need := len(whole)
	for size := 0; size < need; size += 1024 {
		if survives(t, whole[:size], fmt.Sprintf("cut at %d", size)) == nil {
			t.Errorf("a file of %d bytes was accepted, %d are needed", size, need)
		}
	}
	err := survives(t, whole[:need-1], "cut by one byte")
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("ends at byte %d", need-1)) {
		t.Errorf("the error does not say where the file ends: %v", err)
	}
}

// TestForgedRecords changes the file through bbolt, so that all its pages are sound.
func TestForgedRecords(t *testing.T) {
	whole := sample(t)
	alice := accountKey("alice")
	for _, tt := range []struct {
		name, want string
		forge      func(tx *bbolt.Tx) error
	}{
		{"record removed", `account "alice", record 17: missing`, func(tx *bbolt.Tx) error {
			return tx.Bucket(bucketLog).Bucket(alice).Delete(recordKey(17))
		}},
		{"last record removed", `account "alice": its totals say records 32, its records say 31`, func(tx *bbolt.Tx) error {
			return tx.Bucket(bucketLog).Bucket(alice).Delete(recordKey(32))
		}},
		{"record changed", `account "alice", record 9: checksum`, func(tx *bbolt.Tx) error {
			b := tx.Bucket(bucketLog).Bucket(alice)
			v := bytes.Clone(b.Get(recordKey(9)))
			v[20] ^= 1
			return b.Put(recordKey(9), v)
		}},
		{"record of another", `account "alice", record 9: checksum`, func(tx *bbolt.Tx) error {
			b := tx.Bucket(bucketLog)
			return b.Bucket(alice).Put(recordKey(9), b.Bucket(accountKey("bob")).Get(recordKey(9)))
		}},
		{"account removed", `account "alice": its totals are missing`, func(tx *bbolt.Tx) error {
			return tx.Bucket(bucketAccounts).Delete(alice)
		}},
		{"account changed", `bucket accounts, key "aalice": checksum`, func(tx *bbolt.Tx) error {
			v := bytes.Clone(tx.Bucket(bucketAccounts).Get(alice))
			v[30] ^= 1
			return tx.Bucket(bucketAccounts).Put(alice, v)
		}},
		{
			"all records of an account removed",
			`account of all analysts together: its totals say epsilon 15, its records say 7.5`, func(tx *bbolt.Tx) error {
				return tx.Bucket(bucketLog).DeleteBucket(alice)
			},
		},
		{"group forgotten", `account of all analysts together: its 1 records are missing`, func(tx *bbolt.Tx) error {
			return tx.Bucket(bucketLog).DeleteBucket(accountKey(accounting.GroupName))
		}},
		{"bucket removed", `has no bucket "accounts"`, func(tx *bbolt.Tx) error { return tx.DeleteBucket(bucketAccounts) }},
		{"later format", `has format [9]`, func(tx *bbolt.Tx) error {
			return tx.Bucket(bucketMeta).Put(metaFormat, []byte{9})
		}},
		{"other orders", `other Rényi orders`, func(tx *bbolt.Tx) error {
			return tx.Bucket(bucketMeta).Put(metaOrders, []byte{9})
		}},
		{"no key", `key of the answers`, func(tx *bbolt.Tx) error { return tx.Bucket(bucketMeta).Delete(metaKey) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ledger")
			if err := os.WriteFile(path, whole, 0o600); err != nil {
				t.Fatal(err)
			}
			db, err := bbolt.Open(path, 0o600, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := db.Update(tt.forge); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			_, err = Open(path, sampleConfig())
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestFilesThatAreNotForUs(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "ledger")
	for _, tt := range []struct {
		name, want string
		make       func() error
	}{
		{"empty", "it is empty", func() error { return os.WriteFile(path, nil, 0o600) }},
		{"text", "not a bbolt", func() error { return os.WriteFile(path, bytes.Repeat([]byte("hello "), 5000), 0o600) }},
		{"folder", "not a regular file", func() error { return os.Mkdir(path, 0o700) }},
		{"missing folder", "cannot be created", func() error { path = filepath.Join(folder, "none", "ledger"); return nil }},
	} {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		if err := tt.make(); err != nil {
			t.Fatal(err)
		}
		_, err := Open(path, sampleConfig())
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
	}
	if left, err := filepath.Glob(filepath.Join(folder, "*.new-*")); len(left) > 0 || err != nil {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestFileThatWasPutBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger")
	if err := os.WriteFile(path, sample(t), 0o644); err != nil {
		t.Fatal(err)
	}
	openTest(t, path, sampleConfig())
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v, want 0600", info.Mode(), err)
	}
}

// FuzzDamagedFile writes something over a place in a sound ledger: refused, or harmless, never a panic.
func FuzzDamagedFile(f *testing.F) {
	whole := sample(f)
	f.Add(uint32(16), []byte{0})
	f.Add(uint32(4096+8), []byte{2, 0, 0xFF, 0xFF})
	f.Add(uint32(3*4096+16), []byte{1, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF})
	f.Fuzz(func(t *testing.T, at uint32, over []byte) {
		b := bytes.Clone(whole)
		copy(b[int(at)%len(b):], over)
		survives(t, b, fmt.Sprintf("%x over byte %d", over, at))
	})
}
