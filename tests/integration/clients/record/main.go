// Command record writes down what a client sends: go run ./tests/integration/clients/record --listen 127.0.0.1:6000
// --to 127.0.0.1:5432. A client that connects there talks with the PostgreSQL behind it, without TLS or a password, and
// when it is gone its statements come out on standard output in the form of the fixtures beside this folder.
package main

import (
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"
)

func main() {
	listen, to := flag.String("listen", "127.0.0.1:6000", "where clients connect"),
		flag.String("to", "127.0.0.1:5432", "PostgreSQL")
	flag.Parse()
	fmt.Fprintln(os.Stderr, "record:", run(*listen, *to, os.Stdout))
}

// run ends with an error alone.
func run(listen, to string, out io.Writer) error {
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	for {
		client, err := listener.Accept()
		if err != nil {
			return err
		}
		go func() {
			text, err := relay(client, to)
			if err != nil {
				text += fmt.Sprintf("-- not all is recorded: %v\n", err)
			}
			_, _ = io.WriteString(out, text)
		}()
	}
}

// prepared is what Parse says of a statement. The server describes the parameters that the client gives no type.
type prepared struct {
	sql  string
	oids []uint32
}

// sent is one execution: of a statement, or by the simple protocol.
type sent struct {
	sql  string
	of   *prepared
	bind pgproto3.Bind
}

// relay passes on what both sides say, reads along, and returns what the client asked.
func relay(client net.Conn, to string) (string, error) {
	defer client.Close()
	server, err := net.Dial("tcp", to)
	if err != nil {
		return "", err
	}
	backend := pgproto3.NewBackend(io.TeeReader(client, server), nil)
	text, err := startup(backend, client, server)
	if err != nil {
		return "", err
	}
	described, done := make(chan *prepared, 1000), make(chan struct{})
	go func() {
		defer close(done)
		frontend := pgproto3.NewFrontend(io.TeeReader(server, client), nil)
		for {
			m, err := frontend.Receive()
			if err != nil {
				return
			}
			if d, ok := m.(*pgproto3.ParameterDescription); ok {
				(<-described).oids = append([]uint32(nil), d.ParameterOIDs...)
			}
		}
	}()
	list := read(backend, described)
	_ = server.Close()
	<-done
	for _, s := range list {
		block, err := s.text()
		if err != nil {
			return text, err
		}
		text += block
	}
	return text, nil
}

func startup(backend *pgproto3.Backend, client, server net.Conn) (string, error) {
	for {
		m, err := backend.ReceiveStartupMessage()
		if err != nil {
			return "", err
		}
		if s, ok := m.(*pgproto3.StartupMessage); ok {
			return fmt.Sprintf("-- connects with %v\n", s.Parameters), nil
		}
		if _, err := io.CopyN(client, server, 1); err != nil { // whether it speaks TLS
			return "", err
		}
	}
}

func read(backend *pgproto3.Backend, described chan<- *prepared) (list []sent) {
	statements := map[string]*prepared{}
	for {
		m, err := backend.Receive()
		if err != nil {
			return list // the client is gone
		}
		switch m := m.(type) {
		case *pgproto3.Terminate:
			return list
		case *pgproto3.Query:
			list = append(list, sent{sql: m.String})
		case *pgproto3.Parse:
			statements[m.Name] = &prepared{m.Query, append([]uint32(nil), m.ParameterOIDs...)}
		case *pgproto3.Describe:
			if m.ObjectType == 'S' {
				described <- statements[m.Name]
			}
		case *pgproto3.Bind:
			b := pgproto3.Bind{PreparedStatement: m.PreparedStatement, ParameterFormatCodes: append(
				[]int16(nil), m.ParameterFormatCodes...)}
			for _, p := range m.Parameters {
				b.Parameters = append(b.Parameters, append([]byte(nil), p...))
				if p == nil {
					b.Parameters[len(b.Parameters)-1] = nil
				}
			}
			of := statements[m.PreparedStatement]
			list = append(list, sent{of.sql, of, b})
		}
	}
}

// text has a line "-- $1 int8 = '3'" for each parameter, with its type where one is known.
func (s sent) text() (string, error) {
	var out strings.Builder
	out.WriteString("-- answered\n")
	if s.bind.PreparedStatement != "" {
		out.WriteString("-- prepared\n")
	}
	types := pgtype.NewMap()
	for i, value := range s.bind.Parameters {
		t := &pgtype.Type{}
		if i < len(s.of.oids) && s.of.oids[i] != 0 {
			t, _ = types.TypeForOID(s.of.oids[i])
		}
		if t == nil {
			return "", fmt.Errorf("%s: $%d has the unknown type %d", s.sql, i+1, s.of.oids[i])
		}
		fmt.Fprintf(&out, "-- %s = ", strings.TrimSpace(fmt.Sprintf("$%d %s", i+1, t.Name)))
		if value == nil {
			out.WriteString("NULL\n")
			continue
		}
		if codes := s.bind.ParameterFormatCodes; len(codes) > 0 && codes[min(i, len(codes)-1)] == pgtype.BinaryFormatCode {
			v, err := t.Codec.DecodeValue(types, t.OID, pgtype.BinaryFormatCode, value)
			if err != nil {
				return "", fmt.Errorf("%s: $%d: %w", s.sql, i+1, err)
			}
			if value, err = types.Encode(t.OID, pgtype.TextFormatCode, v, nil); err != nil {
				return "", fmt.Errorf("%s: $%d: %w", s.sql, i+1, err)
			}
		}
		fmt.Fprintf(&out, "'%s'\n", strings.ReplaceAll(string(value), "'", "''"))
	}
	return out.String() + s.sql + "\n;\n", nil
}
