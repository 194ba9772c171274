package schema

import (
	"bytes"
	"cmp"
	"strconv"
)

// CompareKeys orders two keys of a list, of so many columns, as their names are ordered.
func CompareKeys(keys Keys, a, b, columns int) int {
	for i := range columns {
		x, isX := keys.Value(a, i)
		y, isY := keys.Value(b, i)
		if isX && isY && len(x) == len(y) {
			if order := cmp.Compare(x, y); order != 0 {
				return order
			}
			continue
		}
		if !isX && !isY {
			continue
		}
		var one, other [32]byte // their lengths, or that they are NULL, decide
		return bytes.Compare(appendKeyLength(one[:0], x, isX), appendKeyLength(other[:0], y, isY))
	}
	return 0
}

// AppendKeyName appends a group's identity: length-prefixed fields, so that no two keys share one.
func AppendKeyName(to []byte, key []*Canonical) []byte {
	for _, k := range key {
		if k == nil {
			to = appendKeyLength(to, "", false)
			continue
		}
		to = append(appendKeyLength(to, *k, true), *k...)
	}
	return to
}

// AppendKeyValue appends one column of the name of a key in a list.
func AppendKeyValue(to []byte, keys Keys, group, column int) []byte {
	v, notNull := keys.Value(group, column)
	return append(appendKeyLength(to, v, notNull), v...)
}

func appendKeyLength(to []byte, v Canonical, notNull bool) []byte {
	if !notNull {
		return append(to, "-;"...)
	}
	to = strconv.AppendInt(to, int64(len(v)), 10)
	return append(to, ':')
}
