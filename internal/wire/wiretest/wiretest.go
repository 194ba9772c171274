// Package wiretest reads and prints the messages of test scripts: what a client sends, and what it gets.
package wiretest

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// Messages reads the shorthand of scripts, one message a line, its fields separated by " | ":
//
//	Q sql                P name | sql [| oid,oid]
//	B portal | statement [| value, value [| result formats [| parameter formats]]]
//	D S name     E portal [| max rows]     C P name     S     H     X     raw TYPE HEX
//
// A value is NULL, 0x and bytes in hexadecimal, or itself.
func Messages(t testing.TB, script string) (messages []pgproto3.FrontendMessage) {
	t.Helper()
	for line := range strings.SplitSeq(script, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			messages = append(messages, message(t, line))
		}
	}
	return messages
}

func message(t testing.TB, line string) pgproto3.FrontendMessage {
	t.Helper()
	kind, rest, _ := strings.Cut(line, " ")
	fields := strings.Split(rest+"||||", "|")
	for i := range fields {
		fields[i] = strings.TrimSpace(fields[i])
	}
	object, name, _ := strings.Cut(rest, " ")
	switch kind {
	case "Q":
		return &pgproto3.Query{String: rest}
	case "P":
		return &pgproto3.Parse{Name: fields[0], Query: fields[1], ParameterOIDs: numbers[uint32](t, fields[2])}
	case "B":
		return &pgproto3.Bind{
			DestinationPortal: fields[0], PreparedStatement: fields[1], Parameters: values(t, fields[2]),
			ResultFormatCodes: numbers[int16](t, fields[3]), ParameterFormatCodes: numbers[int16](t, fields[4]),
		}
	case "D":
		return &pgproto3.Describe{ObjectType: object[0], Name: name}
	case "E":
		limit := append(numbers[uint32](t, fields[1]), 0)
		return &pgproto3.Execute{Portal: fields[0], MaxRows: limit[0]}
	case "C":
		return &pgproto3.Close{ObjectType: object[0], Name: name}
	case "S":
		return &pgproto3.Sync{}
	case "H":
		return &pgproto3.Flush{}
	case "X":
		return &pgproto3.Terminate{}
	case "raw":
		return raw{object[0], bytesOf(t, name)}
	}
	t.Fatalf("unknown message %q", line)
	return nil
}

func numbers[T ~int16 | ~uint32](t testing.TB, list string) (out []T) {
	t.Helper()
	for _, f := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' }) {
		n, err := strconv.Atoi(f)
		if err != nil {
			t.Fatalf("number %q: %v", f, err)
		}
		out = append(out, T(n))
	}
	return out
}

func values(t testing.TB, list string) (out [][]byte) {
	t.Helper()
	for _, f := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' }) {
		f = strings.TrimSpace(f)
		value := []byte(f)
		if digits, binary := strings.CutPrefix(f, "0x"); binary {
			value = bytesOf(t, digits)
		} else if f == "NULL" {
			value = nil
		}
		out = append(out, value)
	}
	return out
}

func bytesOf(t testing.TB, digits string) []byte {
	t.Helper()
	b, err := hex.DecodeString(digits)
	if err != nil {
		t.Fatalf("bytes %q: %v", digits, err)
	}
	return b
}

// raw is a message of any type and body, well-formed or not.
type raw struct {
	kind byte
	body []byte
}

func (raw) Frontend()           {}
func (raw) Decode([]byte) error { return nil }
func (r raw) Encode(dst []byte) ([]byte, error) {
	n := len(r.body) + 4
	dst = append(dst, r.kind, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	return append(dst, r.body...), nil
}

// Render prints what scripts compare of a message.
func Render(message pgproto3.BackendMessage) string {
	switch m := message.(type) {
	case *pgproto3.RowDescription:
		out := "RowDescription"
		for _, f := range m.Fields {
			format := []string{"text", "binary"}[f.Format]
			out += fmt.Sprintf(" %s:%d:%d:%d:%s", f.Name, f.DataTypeOID, f.DataTypeSize, f.TypeModifier, format)
		}
		return out
	case *pgproto3.DataRow:
		out := "DataRow"
		for _, v := range m.Values {
			if v == nil {
				out += " NULL"
			} else {
				out += " " + strconv.Quote(string(v))
			}
		}
		return out
	case *pgproto3.CopyOutResponse:
		return fmt.Sprintf("CopyOutResponse %d %d", m.OverallFormat, m.ColumnFormatCodes)
	case *pgproto3.CopyData:
		return "CopyData " + strconv.QuoteToASCII(string(m.Data))
	case *pgproto3.CommandComplete:
		return "CommandComplete " + string(m.CommandTag)
	case *pgproto3.ReadyForQuery:
		return "ReadyForQuery " + string(m.TxStatus)
	case *pgproto3.ErrorResponse:
		return "ErrorResponse " + rendered(*m)
	case *pgproto3.NoticeResponse:
		return "NoticeResponse " + rendered(pgproto3.ErrorResponse(*m))
	case *pgproto3.ParameterStatus:
		return "ParameterStatus " + m.Name + "=" + m.Value
	case *pgproto3.ParameterDescription:
		return fmt.Sprintf("ParameterDescription %d", m.ParameterOIDs)
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", message), "*pgproto3.")
}

func rendered(m pgproto3.ErrorResponse) string {
	out := m.Severity + " " + m.Code + " " + m.Message
	if m.Position != 0 {
		out += fmt.Sprintf(" P=%d", m.Position)
	}
	return out
}
