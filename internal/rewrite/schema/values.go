package schema

import (
	"iter"
	"strings"
)

var quoted = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// TextArray prints values as a PostgreSQL array of text; nil is NULL.
func TextArray(values iter.Seq[*Canonical]) Canonical {
	var sb strings.Builder
	sb.WriteByte('{')
	first := true
	for v := range values {
		if !first {
			sb.WriteByte(',')
		}
		first = false
		if v == nil {
			sb.WriteString("NULL")
			continue
		}
		sb.WriteByte('"')
		_, _ = quoted.WriteString(&sb, string(*v)) // a Builder takes everything
		sb.WriteByte('"')
	}
	sb.WriteByte('}')
	return Canonical(sb.String())
}

// Texts are texts that are canonical.
func Texts(values []string) iter.Seq[*Canonical] {
	return func(yield func(*Canonical) bool) {
		for _, v := range values {
			if !yield((*Canonical)(&v)) {
				return
			}
		}
	}
}

// joined is the texts of values of this length altogether, one behind the other.
func joined(values iter.Seq[*Canonical], length int) Canonical {
	var sb strings.Builder
	sb.Grow(length)
	for v := range values {
		if v != nil {
			sb.WriteString(string(*v))
		}
	}
	return Canonical(sb.String())
}
