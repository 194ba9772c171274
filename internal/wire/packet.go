package wire

import (
	"encoding/binary"
	"errors"
	"io"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// Codes in the place of a protocol version: PostgreSQL's src/include/libpq/pqcomm.h.
const (
	cancelRequestCode = 1234<<16 | 5678
	sslRequestCode    = 1234<<16 | 5679
	gssRequestCode    = 1234<<16 | 5680
	protocol30        = 3 << 16
)

// packet is a message without a type byte: the only kind before StartupMessage.
type packet struct {
	code uint32
	body []byte
}

var errPacketLength = errors.New("invalid length of startup packet")

// readPacket reads exactly one packet and not a byte more: what follows may belong to TLS.
func readPacket(r io.Reader) (packet, error) {
	var header [8]byte
	if n, err := io.ReadFull(r, header[:]); err != nil {
		if n == 0 {
			return packet{}, err
		}
		return packet{}, noEOF(err)
	}
	length := binary.BigEndian.Uint32(header[:4])
	if length < 8 || length > maxStartupPacket {
		return packet{}, errPacketLength
	}
	p := packet{code: binary.BigEndian.Uint32(header[4:]), body: make([]byte, length-8)}
	if _, err := io.ReadFull(r, p.body); err != nil {
		return packet{}, noEOF(err)
	}
	return p, nil
}

// startupMessage is a parsed StartupMessage.
type startupMessage struct {
	user, database string
	replication    string
	parameters     map[string]string // settings; those of options first, then overwritten by those named in the packet
	minor          uint32            // of the protocol version asked for
	extensions     []string          // _pq_.* names, none of which is known
}

// parseStartup reads a StartupMessage of protocol 3.x. Its errors are FATAL.
func parseStartup(p packet) (startupMessage, error) {
	if p.code>>16 != 3 {
		return startupMessage{}, fatal(pgerr.FeatureNotSupported,
			"unsupported frontend protocol %d.%d: server supports 3.0 to 3.0", p.code>>16, p.code&0xffff)
	}
	pairs, err := parsePairs(p.body)
	if err != nil {
		return startupMessage{}, err
	}
	m := startupMessage{minor: p.code & 0xffff, parameters: map[string]string{}}
	named := map[string]string{}
	for _, pair := range pairs {
		switch name := pair[0]; {
		case name == "user":
			m.user = pair[1]
		case name == "database":
			m.database = pair[1]
		case name == "replication":
			m.replication = pair[1]
		case name == "options":
			if err := parseOptions(pair[1], m.parameters); err != nil {
				return startupMessage{}, err
			}
		case strings.HasPrefix(name, "_pq_."):
			m.extensions = append(m.extensions, name)
		default:
			named[name] = pair[1]
		}
	}
	for name, value := range named {
		m.parameters[name] = value
	}
	return m, m.check()
}

// check refuses what no session can be opened for, and fills in the database.
func (m *startupMessage) check() error {
	if m.user == "" {
		return fatal(pgerr.InvalidAuthorization, "no PostgreSQL user name specified in startup packet")
	}
	if m.database == "" {
		m.database = m.user
	}
	switch strings.ToLower(m.replication) {
	case "", "false", "off", "no", "0", "f", "n":
		return nil
	}
	e := fatal(pgerr.FeatureNotSupported, "replication connections are not supported")
	e.Hint = "Connect to the database itself: a replica needs the rows, and dpproxy answers queries with noise."
	return e
}

// parsePairs reads NUL-terminated names and values up to an empty name, which must be the last byte.
func parsePairs(body []byte) ([][2]string, error) {
	var pairs [][2]string
	rest := string(body)
	for {
		name, after, ok := strings.Cut(rest, "\x00")
		if !ok {
			return nil, invalidLayout()
		}
		if name == "" {
			if after != "" {
				return nil, invalidLayout()
			}
			return pairs, nil
		}
		value, next, ok := strings.Cut(after, "\x00")
		if !ok {
			return nil, invalidLayout()
		}
		pairs = append(pairs, [2]string{name, value})
		rest = next
	}
}

func invalidLayout() *pgconn.PgError {
	return fatal(pgerr.ProtocolViolation, "invalid startup packet layout: expected terminator as last byte")
}

// parseOptions reads the options of a StartupMessage as PostgreSQL's pg_split_opts and process_postgres_switches do:
// words split at blanks, a backslash quotes the next character, settings as -c name=value or --name=value.
func parseOptions(options string, into map[string]string) error {
	words := splitOptions(options)
	for i := 0; i < len(words); i++ {
		word := words[i]
		var setting string
		switch {
		case word == "-c":
			if i++; i == len(words) {
				return fatal(pgerr.SyntaxError, "option requires an argument: -c")
			}
			setting = words[i]
		case strings.HasPrefix(word, "-c"):
			setting = word[len("-c"):]
		case strings.HasPrefix(word, "--"):
			setting = word[len("--"):]
		default:
			return fatal(pgerr.SyntaxError, "invalid command-line argument for server process: %s", word)
		}
		name, value, ok := strings.Cut(setting, "=")
		if !ok {
			return fatal(pgerr.SyntaxError, "%s requires a value", word)
		}
		into[strings.ReplaceAll(name, "-", "_")] = value
	}
	return nil
}

func splitOptions(s string) []string {
	var words []string
	var word strings.Builder
	inWord, escaped := false, false
	for _, r := range s {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\':
			inWord, escaped = true, true
		case r == ' ' || r >= '\t' && r <= '\r':
			if inWord {
				words = append(words, word.String())
				word.Reset()
			}
			inWord = false
		default:
			inWord = true
			word.WriteRune(r)
		}
	}
	if inWord {
		words = append(words, word.String())
	}
	return words
}
