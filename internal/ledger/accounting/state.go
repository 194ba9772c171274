package accounting

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
)

// accountFormat is the first byte of a stored account.
const accountFormat = 2

// Encode returns the account's bytes, with a CRC-32C at the end. Checkpoints hold the same bytes.
func (a *Account) Encode() []byte {
	b := []byte{accountFormat}
	b = appendText(b, a.Name)
	b = binary.AppendUvarint(b, a.Records)
	b = binary.AppendUvarint(b, a.Checkpoint)
	b = append(b, a.chain[:]...)
	b = binary.AppendUvarint(b, a.period)
	b = binary.AppendVarint(b, a.start.UnixMicro())
	b = binary.AppendVarint(b, a.last.UnixMicro())
	b = a.sums.appendTo(b)
	b = binary.AppendUvarint(b, a.failures)
	b = binary.AppendUvarint(b, uint64(len(a.refused)))
	for _, r := range a.refused {
		b = append(b, r[:]...)
	}
	b = binary.AppendVarint(b, a.charged.UnixMicro())
	b = binary.AppendUvarint(b, a.groupPeriod)
	if a.groupSums.equal(a.sums) { // always so without periods
		b = append(b, groupSumsAreOwn)
	} else {
		b = a.groupSums.appendTo(append(b, groupSumsFollow))
	}
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

const (
	groupSumsAreOwn = iota
	groupSumsFollow
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (s sums) appendTo(b []byte) []byte {
	b = s.pure.appendTo(b)
	b = s.selection.appendTo(b)
	b = binary.AppendUvarint(b, uint64(len(s.renyi)))
	for _, a := range s.renyi {
		b = a.appendTo(b)
	}
	return b
}

// DecodeAccount reads what Encode wrote of the account with the given name.
func DecodeAccount(name string, b []byte) (Account, error) {
	a, err := decodeAnyAccount(b)
	if err == nil && a.Name != name {
		err = fmt.Errorf("holds the %s", title(a.Name))
	}
	return a, err
}

func decodeAnyAccount(b []byte) (Account, error) {
	var a Account
	if len(b) < 5 {
		return a, errShort
	}
	body, sum := b[:len(b)-4], binary.BigEndian.Uint32(b[len(b)-4:])
	if crc32.Checksum(body, castagnoli) != sum {
		return a, fmt.Errorf("checksum %08x does not match", sum)
	}
	d := decoder{rest: body}
	if v := d.byte(); v != accountFormat {
		return a, fmt.Errorf("has format %d, which this version does not know", v)
	}
	a.Name = d.text()
	a.Records, a.Checkpoint = d.uvarint(), d.uvarint()
	copy(a.chain[:], d.take(uint64(len(a.chain))))
	a.period = d.uvarint()
	a.start, a.last = d.time(), d.time()
	a.sums = d.sums()
	a.failures = d.uvarint()
	for range d.length(uint64(len(refusal{}))) {
		a.refused = append(a.refused, refusal(d.take(uint64(len(refusal{})))))
	}
	a.charged, a.groupPeriod = d.time(), d.uvarint()
	switch flag := d.byte(); {
	case flag == groupSumsAreOwn:
		a.groupSums = a.sums
	case flag != groupSumsFollow:
		d.fail(fmt.Errorf("has the flag %d, which this version does not know", flag))
	default:
		if a.groupSums = d.sums(); a.groupSums.equal(a.sums) {
			d.fail(errors.New("has the same sums twice"))
		}
	}
	return a, d.end()
}

func (d *decoder) sums() sums {
	s := sums{pure: d.amount(), selection: d.amount()}
	if n := d.length(1); n > 0 {
		s.renyi = make([]Amount, n)
		for i := range s.renyi {
			s.renyi[i] = d.amount()
		}
	}
	return s
}

func (s sums) equal(t sums) bool {
	return s.pure == t.pure && s.selection == t.selection && slices.Equal(s.renyi, t.renyi)
}

// differs returns an error that names the first difference of a stored account from the one derived from its records.
func (a Account) differs(says string, derived Account) error {
	where := func(what string, stored, derived any) error {
		return fmt.Errorf("%s %s %v, its records say %v", says, what, stored, derived)
	}
	switch {
	case a.Name != derived.Name:
		return where("name", a.Name, derived.Name)
	case a.Records != derived.Records:
		return where("records", a.Records, derived.Records)
	case a.Checkpoint != derived.Checkpoint:
		return where("latest checkpoint", a.Checkpoint, derived.Checkpoint)
	case a.chain != derived.chain:
		return where("chain", fmt.Sprintf("%x", a.chain), fmt.Sprintf("%x", derived.chain))
	case a.period != derived.period || !a.start.Equal(derived.start):
		return where("period", a.start, derived.start)
	case a.failures != derived.failures:
		return where("failures", a.failures, derived.failures)
	case !slices.Equal(a.refused, derived.refused):
		return where("refused statements", len(a.refused), len(derived.refused))
	case !a.last.Equal(derived.last):
		return where("latest record at", a.last, derived.last)
	case !a.charged.Equal(derived.charged):
		return where("latest charge at", a.charged, derived.charged)
	case a.groupPeriod != derived.groupPeriod:
		return where("period of all analysts together", a.groupPeriod, derived.groupPeriod)
	}
	if err := a.sums.differs(where, derived.sums, ""); err != nil {
		return err
	}
	return a.groupSums.differs(where, derived.groupSums, " for all analysts together")
}

// differs says by where which of two sums are not the same.
func (s sums) differs(where func(what string, stored, derived any) error, derived sums, whose string) error {
	switch {
	case s.pure != derived.pure:
		return where("epsilon"+whose, s.pure, derived.pure)
	case s.selection != derived.selection:
		return where("selection delta"+whose, s.selection.text(deltaDigits), derived.selection.text(deltaDigits))
	case !slices.Equal(s.renyi, derived.renyi):
		return where("Rényi divergences"+whose, s.renyi, derived.renyi)
	}
	return nil
}
