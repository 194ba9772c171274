package schema

import "strings"

// TextArray prints non-NULL values as a PostgreSQL array of text.
func TextArray(values []*Canonical) Canonical {
	var sb strings.Builder
	sb.WriteByte('{')
	first := true
	for _, v := range values {
		if v == nil {
			continue
		}
		if !first {
			sb.WriteByte(',')
		}
		first = false
		sb.WriteByte('"')
		sb.WriteString(strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(string(*v)))
		sb.WriteByte('"')
	}
	sb.WriteByte('}')
	return Canonical(sb.String())
}
