package policy

import (
	"errors"
	"strings"
)

// maxName is PostgreSQL's longest identifier in bytes (NAMEDATALEN − 1).
const maxName = 63

// splitName cuts a dotted name into identifiers, spelled as in the catalogs: case counts. A part that contains a dot
// is in double quotes. ok is false for an empty, overlong or badly quoted part.
func splitName(s string) (parts []string, ok bool) {
	for {
		var part string
		if strings.HasPrefix(s, `"`) {
			var b strings.Builder
			i := 1
			for ; i < len(s); i++ {
				if s[i] == '"' {
					if i+1 < len(s) && s[i+1] == '"' {
						i++
					} else {
						break
					}
				}
				b.WriteByte(s[i])
			}
			if i >= len(s) {
				return nil, false
			}
			part, s = b.String(), s[i+1:]
			if s != "" && s[0] != '.' {
				return nil, false
			}
		} else {
			i := strings.IndexByte(s, '.')
			if i < 0 {
				i = len(s)
			}
			part, s = s[:i], s[i:]
			if strings.ContainsAny(part, `" `) {
				return nil, false
			}
		}
		if part == "" || len(part) > maxName {
			return nil, false
		}
		parts = append(parts, part)
		if s == "" {
			return parts, true
		}
		s = s[1:]
	}
}

// relation reads name or schema.name; the default schema is public.
func relation(s string) (n Name, err error) {
	parts, ok := splitName(s)
	switch {
	case !ok || len(parts) > 2:
		return Name{}, errors.New("must be name or schema.name, each part at most 63 bytes")
	case len(parts) == 1:
		n = Name{"public", parts[0]}
	default:
		n = Name{parts[0], parts[1]}
	}
	if strings.HasPrefix(n.Schema, "pg_") || n.Schema == "information_schema" {
		return Name{}, errors.New("is in a system schema")
	}
	if n.Schema == "dpproxy" {
		return Name{}, errors.New("is in the schema dpproxy, which the proxy itself fills")
	}
	return n, nil
}

// columnOf reads table.column or schema.table.column.
func columnOf(s string) (c ColumnOf, err error) {
	parts, ok := splitName(s)
	if !ok || len(parts) < 2 || len(parts) > 3 {
		return ColumnOf{}, errors.New("must be table.column or schema.table.column")
	}
	if len(parts) == 2 {
		parts = append([]string{"public"}, parts...)
	}
	return ColumnOf{Name{parts[0], parts[1]}, parts[2]}, nil
}
