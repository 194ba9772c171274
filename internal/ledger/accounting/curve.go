package accounting

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
)

// CurveID names a stored curve: SHA-256 of its bytes, cut to 128 bits.
type CurveID [16]byte

// Curves finds the bytes of a stored curve.
type Curves func(CurveID) ([]byte, error)

// Statements of the same kind have the same curve, 65 numbers. Stores keep each list of them once, and records name
// it.
//
// Divergences are charged as what is stored: float32, rounded up. That charges at most 2⁻²³ more than what a release
// costs, and a ledger in which no two curves are the same stays small.

// roundUp returns the least float32 that is not below x. NaN stays NaN.
func roundUp(x float64) float32 {
	f := float32(x)
	if float64(f) < x {
		f = math.Nextafter32(f, float32(math.Inf(1)))
	}
	return f
}

// encodeCurve returns the bytes of divergences and their name.
func encodeCurve(renyi []float64) (CurveID, []byte) {
	b := make([]byte, 0, 4*len(renyi))
	for _, x := range renyi {
		b = binary.BigEndian.AppendUint32(b, math.Float32bits(roundUp(x)))
	}
	return curveID(b), b
}

func curveID(b []byte) (id CurveID) {
	h := sha256.Sum256(b)
	copy(id[:], h[:])
	return id
}

// decodeCurve reads divergences that are stored under a name.
func decodeCurve(id CurveID, b []byte) ([]float64, error) {
	if curveID(b) != id {
		return nil, fmt.Errorf("curve %x: its bytes do not match", id)
	}
	if len(b)%4 != 0 {
		return nil, fmt.Errorf("curve %x: %w", id, errShort)
	}
	renyi := make([]float64, len(b)/4)
	for i := range renyi {
		renyi[i] = float64(math.Float32frombits(binary.BigEndian.Uint32(b[4*i:])))
	}
	return renyi, nil
}

// find completes a record by its divergences.
func (r *Record) find(curves Curves) error {
	if r.CurveID == (CurveID{}) {
		return nil
	}
	b, err := curves(r.CurveID)
	if err == nil {
		r.Curve.Renyi, err = decodeCurve(r.CurveID, b)
	}
	return err
}

// CurveOf returns the name of the curve that a record's bytes refer to, if they do.
func CurveOf(payload []byte) (CurveID, bool) {
	r, err := DecodeRecord(payload)
	if err != nil || r.CurveID == (CurveID{}) {
		return CurveID{}, false
	}
	return r.CurveID, true
}
