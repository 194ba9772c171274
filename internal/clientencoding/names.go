package clientencoding

import (
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
)

// UTF8 and SQLASCII are the encodings in which a client's bytes are the server's.
const (
	UTF8     = "UTF8"
	SQLASCII = "SQL_ASCII"
)

// encodings lists what can be converted, under PostgreSQL's names (src/common/encnames.c, pg_enc2name_tbl).
var encodings = index(
	&Encoding{name: "LATIN1", tables: charmap.ISO8859_1},
	&Encoding{name: "LATIN2", tables: charmap.ISO8859_2, c1: true},
	&Encoding{name: "LATIN3", tables: charmap.ISO8859_3, c1: true},
	&Encoding{name: "LATIN4", tables: charmap.ISO8859_4, c1: true},
	&Encoding{name: "LATIN5", tables: charmap.ISO8859_9},
	&Encoding{name: "LATIN6", tables: charmap.ISO8859_10, c1: true},
	&Encoding{name: "LATIN7", tables: charmap.ISO8859_13, c1: true},
	&Encoding{name: "LATIN8", tables: charmap.ISO8859_14, c1: true},
	&Encoding{name: "LATIN9", tables: charmap.ISO8859_15, c1: true},
	&Encoding{name: "LATIN10", tables: charmap.ISO8859_16, c1: true},
	&Encoding{name: "ISO_8859_5", tables: charmap.ISO8859_5, c1: true},
	&Encoding{name: "ISO_8859_6", tables: charmap.ISO8859_6, c1: true},
	&Encoding{name: "ISO_8859_7", tables: charmap.ISO8859_7, c1: true},
	&Encoding{name: "ISO_8859_8", tables: charmap.ISO8859_8, c1: true},
	&Encoding{name: "KOI8R", tables: charmap.KOI8R},
	&Encoding{name: "KOI8U", tables: charmap.KOI8U, otherwise: map[rune]byte{'╝': 0xae, '╬': 0xbe}},
	&Encoding{name: "WIN866", tables: charmap.CodePage866},
	&Encoding{name: "WIN874", tables: charmap.Windows874},
	&Encoding{name: "WIN1250", tables: charmap.Windows1250},
	&Encoding{name: "WIN1251", tables: charmap.Windows1251},
	&Encoding{name: "WIN1252", tables: charmap.Windows1252},
	&Encoding{name: "WIN1253", tables: charmap.Windows1253},
	&Encoding{name: "WIN1254", tables: charmap.Windows1254},
	&Encoding{name: "WIN1255", tables: charmap.Windows1255, refused: func(r rune, _ []byte) bool { return r == 0x05ba }},
	&Encoding{name: "WIN1256", tables: charmap.Windows1256},
	&Encoding{name: "WIN1257", tables: charmap.Windows1257},
	&Encoding{name: "WIN1258", tables: charmap.Windows1258},
	&Encoding{name: "SJIS", tables: japanese.ShiftJIS},
	&Encoding{name: "EUC_JP", tables: japanese.EUCJP, refused: func(r rune, b []byte) bool {
		return r == '¦' ||
			b[0] >= 0xf5
	}},
	&Encoding{name: "EUC_KR", tables: korean.EUCKR, refused: func(_ rune, b []byte) bool {
		return b[0] < 0xa1 ||
			b[1] < 0xa1
	}},
	&Encoding{name: "UHC", tables: korean.EUCKR},
	&Encoding{name: "GBK", tables: simplifiedchinese.GBK},
	&Encoding{name: "GB18030", tables: simplifiedchinese.GB18030, refused: func(r rune, _ []byte) bool {
		return r >= 0xe000 && r <= 0xf8ff
	}},
)

// aliases are PostgreSQL's other names (pg_encname_tbl), as clean gives them.
var aliases = map[string]string{
	"unicode": UTF8, "abc": "WIN1258", "alt": "WIN866", "iso88591": "LATIN1", "iso88592": "LATIN2", "iso88593": "LATIN3",
	"iso88594": "LATIN4", "iso88599": "LATIN5", "iso885910": "LATIN6", "iso885913": "LATIN7", "iso885914": "LATIN8",
	"iso885915": "LATIN9", "iso885916": "LATIN10", "koi8": "KOI8R", "mskanji": "SJIS", "shiftjis": "SJIS",
	"tcvn":     "WIN1258",
	"tcvn5712": "WIN1258", "vscii": "WIN1258", "win": "WIN1251", "win932": "SJIS", "win936": "GBK", "win949": "UHC",
	"windows1250": "WIN1250", "windows1251": "WIN1251", "windows1252": "WIN1252", "windows1253": "WIN1253",
	"windows1254": "WIN1254", "windows1255": "WIN1255", "windows1256": "WIN1256", "windows1257": "WIN1257",
	"windows1258": "WIN1258", "windows866": "WIN866", "windows874": "WIN874", "windows932": "SJIS", "windows936": "GBK",
	"windows949": "UHC",
}

func index(list ...*Encoding) map[string]*Encoding {
	m := make(map[string]*Encoding, len(list))
	for _, e := range list {
		m[clean(e.name)] = e
	}
	return m
}

// clean keeps letters and digits, in lower case, as PostgreSQL's clean_encoding_name does.
func clean(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			return r
		}
		return -1
	}, name)
}

// Name returns PostgreSQL's name of an encoding that a session can have. It reports false for all others.
func Name(name string) (string, bool) {
	key := clean(name)
	if known, ok := aliases[key]; ok {
		return known, true
	}
	switch key {
	case "utf8":
		return UTF8, true
	case "sqlascii":
		return SQLASCII, true
	}
	e, ok := encodings[key]
	if !ok {
		return "", false
	}
	return e.name, true
}

// For returns the encoding of a canonical name; nil where bytes need no conversion.
func For(canonical string) *Encoding {
	if canonical == UTF8 { // each message asks
		return nil
	}
	return encodings[clean(canonical)]
}

// Encoding converts text from and to one encoding. A nil one leaves text as it is.
type Encoding struct {
	name      string
	tables    encoding.Encoding
	c1        bool                        // bytes 0x80 to 0x9f are the control characters of the same number
	otherwise map[rune]byte               // what PostgreSQL's table has in the place of tables'
	refused   func(r rune, b []byte) bool // what PostgreSQL does not have, or reads otherwise
}
