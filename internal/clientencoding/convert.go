package clientencoding

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/transform"

	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// Decode converts a client's text to UTF-8. What is no text of the encoding, or has no character in Unicode, is 22021
// or 22P05 as PostgreSQL words them.
func (e *Encoding) Decode(text []byte) ([]byte, error) {
	if e == nil || ascii(text) {
		return text, nil
	}
	decoder := e.tables.NewDecoder()
	out := make([]byte, 0, len(text)+len(text)/2)
	var char [utf8.UTFMax]byte
	for rest := text; len(rest) > 0; {
		if rest[0] < utf8.RuneSelf {
			out, rest = append(out, rest[0]), rest[1:]
			continue
		}
		if r, ok := e.special(rest[0]); ok {
			out, rest = utf8.AppendRune(out, r), rest[1:]
			continue
		}
		n, read, err := 0, 0, error(nil)
		for size := 1; size <= len(rest) && n == 0; size++ {
			decoder.Reset()
			n, read, err = decoder.Transform(char[:], rest[:size], size == len(rest))
			if errors.Is(err, transform.ErrShortSrc) {
				n = 0
			}
		}
		r, _ := utf8.DecodeRune(char[:n])
		if n == 0 || r == utf8.RuneError || e.refused != nil && e.refused(r, rest[:read]) {
			return nil, e.unreadable(rest, read)
		}
		out, rest = append(out, char[:n]...), rest[read:]
	}
	return out, nil
}

// special reads the bytes that are not in tables.
func (e *Encoding) special(b byte) (rune, bool) {
	if e.c1 && b < 0xa0 {
		return rune(b), true
	}
	for r, other := range e.otherwise {
		if other == b {
			return r, true
		}
	}
	return 0, false
}

func (e *Encoding) unreadable(rest []byte, read int) error {
	if read == 0 {
		return pgerr.New(pgerr.CharacterNotInRepertoire, `invalid byte sequence for encoding "`+e.name+`": `+hex(rest[:1]))
	}
	return pgerr.New(pgerr.UntranslatableCharacter, "character with byte sequence "+hex(rest[:read])+` in encoding "`+
		e.name+`" has no equivalent in encoding "UTF8"`)
}

// Encode converts UTF-8 to the client's encoding. A character that it does not have is 22P05, as in PostgreSQL.
func (e *Encoding) Encode(text []byte) ([]byte, error) { return e.encode(text, nil) }

// Lossy converts as Encode does, with a question mark for a character that the encoding does not have: for messages
// that must reach the client.
func (e *Encoding) Lossy(text string) string {
	out, err := e.encode([]byte(text), []byte{'?'})
	if err != nil {
		return strings.Map(func(r rune) rune {
			if r < utf8.RuneSelf {
				return r
			}
			return '?'
		}, text)
	}
	return string(out)
}

func (e *Encoding) encode(text, instead []byte) ([]byte, error) {
	if e == nil || ascii(text) {
		return text, nil
	}
	encoder := e.tables.NewEncoder()
	out := make([]byte, 0, len(text))
	var char [2 * utf8.UTFMax]byte
	for rest := text; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		b := rest[:size]
		rest = rest[size:]
		if special, ok := e.otherwise[r]; ok {
			out = append(out, special)
			continue
		}
		if r < utf8.RuneSelf || e.c1 && r < 0xa0 {
			out = append(out, byte(r))
			continue
		}
		encoder.Reset()
		n, _, err := encoder.Transform(char[:], b, true)
		switch {
		case err == nil && n > 0 && !e.taken(char[:n]) && (e.refused == nil || !e.refused(r, char[:n])):
			out = append(out, char[:n]...)
		case instead != nil:
			out = append(out, instead...)
		default:
			return nil, pgerr.New(pgerr.UntranslatableCharacter, "character with byte sequence "+hex(b)+
				` in encoding "UTF8" has no equivalent in encoding "`+e.name+`"`)
		}
	}
	return out, nil
}

// taken reports whether a byte is another character in PostgreSQL's table.
func (e *Encoding) taken(b []byte) bool {
	_, special := e.special(b[0])
	return special
}

func ascii(text []byte) bool {
	for _, c := range text {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// hex prints bytes as PostgreSQL's messages do.
func hex(b []byte) string {
	parts := make([]string, len(b))
	for i, c := range b {
		parts[i] = fmt.Sprintf("0x%02x", c)
	}
	return strings.Join(parts, " ")
}
