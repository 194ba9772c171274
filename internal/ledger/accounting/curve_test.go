package accounting

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// TestStoredCurvesCostNoLess: what is stored of a curve is charged, bounds what the curve says, and is hardly more.
func TestStoredCurvesCostNoLess(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		divergence := rapid.OneOf(rapid.Float64Range(0, 1e-40), rapid.Float64Range(0, 100),
			rapid.Float64Range(0, math.MaxFloat64), rapid.Just(math.Inf(1)))
		renyi := rapid.SliceOfN(divergence, len(mechanism.Orders), len(mechanism.Orders)).Draw(t, "divergences")
		id, b := encodeCurve(renyi)
		stored, err := decodeCurve(id, b)
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range renyi {
			most := x*(1+1.0/(1<<23)) + math.SmallestNonzeroFloat32
			if stored[i] < x || x <= math.MaxFloat32 && stored[i] > most {
				t.Fatalf("%v is stored as %v", x, stored[i])
			}
		}
		charge := ledger.Charge{Epsilon: 1, Curve: mechanism.Curve{Pure: math.Inf(1), Renyi: renyi}}
		before, err := cost(charge, policy.RDP)
		if err != nil {
			t.Fatal(err)
		}
		charge.Curve.Renyi = stored
		after, err := cost(charge, policy.RDP)
		if err != nil || !before.equal(after) {
			t.Fatalf("a charge of %v costs %v, and %v when it is read again, %v", renyi, before, after, err)
		}
		if again, _ := encodeCurve(stored); again != id {
			t.Fatalf("%v has another name when it is read again", renyi)
		}
	})
}

func TestCurvesThatAreNotTheNamedOnes(t *testing.T) {
	id, b := encodeCurve([]float64{1, 2})
	b[0] ^= 1
	if _, err := decodeCurve(id, b); err == nil || !strings.Contains(err.Error(), "its bytes do not match") {
		t.Errorf("changed bytes: %v", err)
	}
	short := []byte{1, 2, 3}
	if _, err := decodeCurve(curveID(short), short); err == nil || !strings.Contains(err.Error(), "ends too early") {
		t.Errorf("three bytes: %v", err)
	}
	for _, invalid := range []float64{math.NaN(), -1, -1e-50} {
		renyi := make([]float64, len(mechanism.Orders))
		renyi[3] = invalid
		if _, err := cost(ledger.Charge{Epsilon: 1, Curve: mechanism.Curve{Pure: 1, Renyi: renyi}}, policy.RDP); err == nil {
			t.Errorf("a divergence of %v was charged", invalid)
		}
	}
}
