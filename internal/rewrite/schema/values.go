package schema

import "strings"

// TextArray prints values as a PostgreSQL array of text; nil is NULL.
func TextArray(values []*Canonical) Canonical {
	var sb strings.Builder
	sb.WriteByte('{')
	first := true
	for _, v := range values {
		if !first {
			sb.WriteByte(',')
		}
		first = false
		if v == nil {
			sb.WriteString("NULL")
			continue
		}
		sb.WriteByte('"')
		sb.WriteString(strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(string(*v)))
		sb.WriteByte('"')
	}
	sb.WriteByte('}')
	return Canonical(sb.String())
}
