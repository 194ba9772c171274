package accounting

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/dpproxy/dpproxy/internal/policy"
)

// errShort is the error of bytes that end in the middle of a field.
var errShort = errors.New("ends too early")

// DecodeRecord reads what encode wrote. It refuses all other bytes: nothing may be left over, and varints must be
// minimal.
func DecodeRecord(b []byte) (*Record, error) {
	d := decoder{rest: b}
	if v := d.byte(); v != recordFormat && d.err == nil {
		return nil, fmt.Errorf("has format %d, which this version does not know", v)
	}
	r := &Record{Kind: Kind(d.byte())}
	r.Analyst = d.text()
	r.Number = d.uvarint()
	r.At = d.time()
	r.Period = d.uvarint()
	switch r.Kind {
	case KindPeriod:
		r.Cause = Cause(d.byte())
		r.Start = d.time()
		r.Failures = d.uvarint()
	case KindFail:
		r.Fingerprint = d.text()
		r.Failures = d.uvarint()
	case KindClear:
	case KindCheckpoint:
		r.State = bytes.Clone(d.take(uint64(len(d.rest))))
	case KindCharge, KindShared:
		d.charge(r)
	default:
		d.fail(fmt.Errorf("has kind %d, which this version does not know", r.Kind))
	}
	if err := d.end(); err != nil {
		return nil, err
	}
	return r, nil
}

// decoder takes fields from the front of rest. After an error it returns zeros.
type decoder struct {
	rest []byte
	err  error
}

func (d *decoder) charge(r *Record) {
	r.GroupPeriod = d.uvarint()
	r.Fingerprint = d.text()
	r.Query = d.text()
	r.PolicyVersion = d.text()
	switch m := d.byte(); {
	case m == 1:
		r.Method = policy.Pure
	case m == 2:
		r.Method = policy.RDP
	default:
		d.fail(fmt.Errorf("has accounting method %d, which this version does not know", m))
	}
	r.Epsilon = d.number()
	r.SelectionDelta = d.number()
	r.Curve.Pure = d.number()
	if len(d.rest) > 0 {
		if copy(r.CurveID[:], d.take(uint64(len(r.CurveID)))); r.CurveID == (CurveID{}) {
			d.fail(errors.New("names a curve by zeros"))
		}
	}
}

// fail keeps the first error.
func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

// end returns the first error. Nothing may be left over.
func (d *decoder) end() error {
	if len(d.rest) > 0 {
		d.fail(fmt.Errorf("has %d bytes too many", len(d.rest)))
	}
	return d.err
}

// take returns the next n bytes.
func (d *decoder) take(n uint64) []byte {
	if d.err == nil && n > uint64(len(d.rest)) {
		d.err = errShort
	}
	if d.err != nil {
		return nil
	}
	out := d.rest[:n]
	d.rest = d.rest[n:]
	return out
}

func (d *decoder) byte() byte {
	if b := d.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *decoder) text() string { return string(d.take(d.uvarint())) }

func (d *decoder) number() float64 { return math.Float64frombits(d.uint64()) }

func (d *decoder) uint64() uint64 {
	if b := d.take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// amount reads what Amount.appendTo wrote.
func (d *decoder) amount() Amount {
	n := d.byte()
	b := d.take(uint64(n))
	if n > 16 || n > 0 && len(b) > 0 && b[0] == 0 {
		d.fail(errors.New("holds an amount that is not in its shortest form"))
		return Amount{}
	}
	var whole [16]byte
	copy(whole[16-len(b):], b)
	return Amount{binary.BigEndian.Uint64(whole[:8]), binary.BigEndian.Uint64(whole[8:])}
}

// length reads the number of things that follow, each of at least some bytes.
func (d *decoder) length(each uint64) uint64 {
	n := d.uvarint()
	if n > uint64(len(d.rest))/each {
		d.fail(errShort)
	}
	if d.err != nil {
		return 0
	}
	return n
}

func (d *decoder) uvarint() uint64 {
	if d.err != nil {
		return 0
	}
	v, n := binary.Uvarint(d.rest)
	if n <= 0 || n > 1 && d.rest[n-1] == 0 {
		d.err = errShort
		if n != 0 {
			d.err = errors.New("holds a number that is not in its shortest form")
		}
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

// time reads microseconds since 1970 (zigzag varint).
func (d *decoder) time() time.Time {
	u := d.uvarint()
	return time.UnixMicro(int64(u>>1) ^ -int64(u&1)).UTC()
}
