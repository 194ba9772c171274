package gate

import (
	"strconv"
	"testing"

	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// TestPlacesGrow: keys that are added one by one are found.
func TestPlacesGrow(t *testing.T) {
	var keys rewrite.KeyRows
	p := newPlaces(&keys, 1)
	for n := range 3000 {
		if g := p.of(keyOf(strconv.Itoa(n))); g != dropped {
			t.Fatalf("the %d-th key is found at %d before it is added", n, g)
		}
		keys = append(keys, keyOf(strconv.Itoa(n)))
		p.add(n)
		for _, at := range []int{0, n / 2, n} {
			if g := p.of(keys[at]); g != at {
				t.Fatalf("of %d keys, the %d-th is found at %d", n+1, at, g)
			}
		}
	}
}

// TestPlaces: every key of a list is found at its first place, and no other key is.
func TestPlaces(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 1000, 4096, 5461} {
		var keys rewrite.KeyRows
		for i := range n {
			keys = append(keys, keyOf(strconv.Itoa(i/2), strconv.Itoa(i%2))) // "1", "12" and "11", "2" are different keys
		}
		keys = append(keys, keys...)
		p := newPlaces(keys, 2)
		for i := range n {
			if g := p.of(keys[i]); g != i {
				t.Fatalf("the %d-th of %d keys is found at %d", i, n, g)
			}
		}
		for _, other := range [][]*rewrite.Canonical{
			keyOf("-1", "0"), keyOf("NULL", "0"), keyOf(strconv.Itoa(n), "NULL"),
			keyOf("", ""),
		} {
			if g := p.of(other); g != dropped {
				t.Errorf("%q is found among %d keys, at %d", keyName(other), n, g)
			}
		}
	}
}
