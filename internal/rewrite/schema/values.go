package schema

import "iter"

// TextArray prints values as a PostgreSQL array of text; nil is NULL.
func TextArray(values iter.Seq[*Canonical]) Canonical { return Canonical(AppendTextArray(nil, values)) }

// AppendTextArray appends what TextArray prints.
func AppendTextArray(to []byte, values iter.Seq[*Canonical]) []byte {
	to = append(to, '{')
	first := true
	for v := range values {
		if !first {
			to = append(to, ',')
		}
		first = false
		if v == nil {
			to = append(to, "NULL"...)
			continue
		}
		to = append(to, '"')
		for _, c := range []byte(*v) {
			if c == '"' || c == '\\' {
				to = append(to, '\\')
			}
			to = append(to, c)
		}
		to = append(to, '"')
	}
	return append(to, '}')
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

// between is the text of one value.
func (p *packed) between(start, end uint32) Canonical { return Canonical(p.text.String()[start:end]) }
