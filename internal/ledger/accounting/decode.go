package accounting

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/dpproxy/dpproxy/internal/policy"
)

// errShort is the error of bytes that end in the middle of a field.
var errShort = errors.New("ends too early")

// DecodeRecord reads what encode wrote. It refuses all other bytes: nothing may be left over, and varints must be minimal.
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
		r.Failures = d.count()
	case KindFail:
		r.Fingerprint = d.text()
		r.Failures = d.count()
	case KindClear:
	case KindCharge:
		d.charge(r)
	default:
		if d.err == nil {
			d.err = fmt.Errorf("has kind %d, which this version does not know", r.Kind)
		}
	}
	if d.err == nil && len(d.rest) > 0 {
		d.err = fmt.Errorf("has %d bytes too many", len(d.rest))
	}
	if d.err != nil {
		return nil, d.err
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
	case d.err == nil:
		d.err = fmt.Errorf("has accounting method %d, which this version does not know", m)
	}
	r.Epsilon = d.number()
	r.SelectionDelta = d.number()
	r.Curve.Pure = d.number()
	n := d.uvarint()
	if d.err == nil && n > uint64(len(d.rest)/8) {
		d.err = errShort
	}
	if d.err != nil || n == 0 {
		return
	}
	r.Curve.Renyi = make([]float64, n)
	for i := range r.Curve.Renyi {
		r.Curve.Renyi[i] = d.number()
	}
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

func (d *decoder) amount() Amount {
	hi := d.uint64()
	return Amount{hi, d.uint64()}
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

// count reads what appendCount wrote.
func (d *decoder) count() uint64 {
	if d.err != nil || len(d.rest) == 0 {
		return 0
	}
	n := d.uvarint()
	if n == 0 && d.err == nil {
		d.err = errors.New("ends with a count of 0, which no version writes")
	}
	return n
}

// time reads microseconds since 1970 (zigzag varint).
func (d *decoder) time() time.Time {
	u := d.uvarint()
	return time.UnixMicro(int64(u>>1) ^ -int64(u&1)).UTC()
}
