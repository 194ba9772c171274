package bound

import (
	"errors"
	"math/big"
	"time"
)

var errFiner = errors.New("is finer than a microsecond, which is the resolution of PostgreSQL's times")

var timeLayouts = []struct {
	layout string
	kind   Kind
}{
	{"2006-01-02", Date},
	{"2006-01-02 15:04:05", Timestamp}, // fractions of a second are read with it
	{"2006-01-02 15:04", Timestamp},
	{"2006-01-02 15:04:05Z07:00", TimestampTZ},
	{"2006-01-02 15:04:05Z07", TimestampTZ},
	{"2006-01-02 15:04Z07:00", TimestampTZ},
}

// parseTimestamp reads the ISO forms. ok is false where the text has none of them.
func parseTimestamp(s string) (v Value, ok bool, err error) {
	iso := s
	if len(iso) > 10 && (iso[10] == 'T' || iso[10] == 't') {
		iso = iso[:10] + " " + iso[11:]
	}
	for _, l := range timeLayouts {
		t, err := time.Parse(l.layout, iso)
		switch {
		case err != nil || t.Year() < 1:
			continue
		case t.Nanosecond()%1000 != 0:
			return Value{}, true, errFiner
		}
		return Value{l.kind, s, new(big.Rat).SetInt64(t.UnixMicro())}, true, nil
	}
	return Value{}, false, nil
}
