package wire

import (
	"bufio"
	"bytes"
	"context"
	"crypto/x509"
	"encoding/binary"
	"io"
	"log/slog"

	"github.com/dpproxy/dpproxy/internal/verifier"
)

// scriptedConn is a connection whose client has said everything already, and whose replies go nowhere.
func scriptedConn(s *Server, in []byte) *conn {
	return &conn{
		server: s, host: "test", log: slog.New(slog.DiscardHandler), r: bufio.NewReader(bytes.NewReader(in)),
		w: newWriter(io.Discard),
	}
}

func frameBytes(kind byte, body []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(body)+4)), body...)
}

type noHandler struct{}

func (noHandler) Open(context.Context, Startup) (Session, error) { return nil, io.EOF }

type noAuthenticator struct{}

func (noAuthenticator) Verifier(context.Context, string) (Credential, bool, error) {
	return Credential{}, false, nil
}
func (noAuthenticator) Certificate(*x509.Certificate) (string, bool) { return "", false }
func (noAuthenticator) Passwords() bool                              { return true }
func (noAuthenticator) Shapes() []verifier.Shape                     { return nil }
