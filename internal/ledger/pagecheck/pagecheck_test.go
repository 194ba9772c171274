package pagecheck

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"
)

// soundFile returns the used pages of a file with nested buckets, branch pages, overflow pages and free pages, and
// where a branch page begins.
func soundFile(t testing.TB) (b []byte, branch int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "db")
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	put := func(n int, size int) {
		err := db.Update(func(tx *bbolt.Tx) error {
			outer, err := tx.CreateBucketIfNotExists([]byte("outer"))
			if err != nil {
				return err
			}
			for _, name := range []string{"inner", "small"} {
				b, err := outer.CreateBucketIfNotExists([]byte(name))
				if err != nil {
					return err
				}
				if name == "small" {
					n = 1
				}
				for i := range n {
					if err := b.Put(fmt.Appendf(nil, "key %04d", i), make([]byte, size)); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	put(600, 40)
	put(3, 3*os.Getpagesize())
	put(300, 10)
	var used int64
	err = db.View(func(tx *bbolt.Tx) error {
		used = tx.Size()
		for id := range int(used) / os.Getpagesize() {
			if p, err := tx.Page(id); err == nil && p != nil && p.Type == "branch" {
				branch = id * os.Getpagesize()
			}
		}
		return nil
	})
	if err != nil || branch == 0 {
		t.Fatalf("branch page at %d, %v", branch, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	b, err = os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b[:used], branch
}

// check runs Check on a file with the given bytes.
func check(t testing.TB, b []byte) error {
	t.Helper()
	path := filepath.Join(t.TempDir(), "db")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return Check(f)
}

func TestSoundFile(t *testing.T) {
	whole, _ := soundFile(t)
	if err := check(t, whole); err != nil {
		t.Error(err)
	}
	if err := check(t, append(bytes.Clone(whole), make([]byte, 1<<16)...)); err != nil {
		t.Errorf("with room for growth: %v", err)
	}
}

func TestDamage(t *testing.T) {
	whole, branch := soundFile(t)
	page := os.Getpagesize()
	for _, tt := range []struct {
		name, want string
		damage     func(b []byte) []byte
	}{
		{"empty", "it is empty", func([]byte) []byte { return nil }},
		{"short", "ends too early", func(b []byte) []byte { return b[:40] }},
		{"cut", "it ends at byte", func(b []byte) []byte { return b[:len(b)-1] }},
		{"no bbolt", "not a bbolt meta page", func(b []byte) []byte { return bytes.Repeat([]byte("x"), len(b)) }},
		{"meta page", "page 1 at byte", func(b []byte) []byte { b[page+pageHeader+20] ^= 1; return b }},
		{"another page's number", "it is marked as page", func(b []byte) []byte { b[branch] ^= 1; return b }},
		{"type of a page", "neither a branch's nor a leaf's", func(b []byte) []byte { b[branch+8] = flagMeta; return b }},
		{"number of entries", "entries do not fit", func(b []byte) []byte {
			b[branch+10], b[branch+11] = 0xFF, 0xFF
			return b
		}},
		{"place of an entry", "lies outside the page", func(b []byte) []byte { b[branch+pageHeader+3] = 0x7F; return b }},
		{"overflow", "more pages", func(b []byte) []byte { b[branch+15] = 1; return b }},
		{"child outside", "is referred to, but", func(b []byte) []byte { b[branch+pageHeader+8+6] = 1; return b }},
		{"child twice", "is referred to twice", func(b []byte) []byte {
			copy(b[branch+pageHeader+pageElement+8:branch+pageHeader+pageElement+16], b[branch+pageHeader+8:])
			return b
		}},
	} {
		if err := check(t, tt.damage(bytes.Clone(whole))); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// TestAnyBit flips bits everywhere. A file that passes the check must not make bbolt panic.
func TestAnyBit(t *testing.T) {
	whole, _ := soundFile(t)
	random := rand.New(rand.NewPCG(7, 8))
	for range 500 {
		b := bytes.Clone(whole)
		b[random.IntN(len(b))] ^= byte(1 << random.IntN(8))
		if check(t, b) == nil {
			readAll(t, b)
		}
	}
}

// readAll visits every key of every bucket.
func readAll(t *testing.T, b []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "db")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var visit func(b *bbolt.Bucket) error
	visit = func(b *bbolt.Bucket) error {
		return b.ForEach(func(k, v []byte) error {
			if v == nil && b.Bucket(k) != nil {
				return visit(b.Bucket(k))
			}
			return nil
		})
	}
	if err := db.View(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(_ []byte, b *bbolt.Bucket) error { return visit(b) })
	}); err != nil {
		t.Fatal(err)
	}
}
