// Package ldaptest is a directory for tests: it answers binds, and knows nothing else.
package ldaptest

import (
	"crypto/tls"
	"encoding/pem"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	ber "github.com/go-asn1-ber/asn1-ber"
	"github.com/go-ldap/ldap/v3"
)

// Serve answers binds behind TLS: by the result that it has for a name and a password, else by invalidCredentials. It
// returns its address and the file of its certificate.
func Serve(t *testing.T, results map[[2]string]int64) (address, ca string) {
	t.Helper()
	https := httptest.NewTLSServer(nil) // for its certificate, which is of 127.0.0.1 and signed by itself
	https.Close()
	certificate := https.TLS.Certificates[0]
	ca = filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]}),
		0o600); err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: https.TLS.Certificates})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go answerBind(conn, results)
		}
	}()
	return "ldaps://" + l.Addr().String(), ca
}

// answerBind answers one BindRequest (RFC 4511, 4.2).
func answerBind(conn net.Conn, results map[[2]string]int64) {
	defer conn.Close()
	request, err := ber.ReadPacket(conn)
	if err != nil || len(request.Children) < 2 || len(request.Children[1].Children) < 3 {
		return
	}
	bind := request.Children[1].Children
	result, known := results[[2]string{bind[1].Data.String(), bind[2].Data.String()}]
	if !known {
		result = ldap.LDAPResultInvalidCredentials
	}
	response := ber.Encode(ber.ClassUniversal, ber.TypeConstructed, ber.TagSequence, nil, "LDAP Response")
	response.AppendChild(ber.NewInteger(ber.ClassUniversal, ber.TypePrimitive, ber.TagInteger, request.Children[0].Value,
		"MessageID"))
	body := ber.Encode(ber.ClassApplication, ber.TypeConstructed, ldap.ApplicationBindResponse, nil, "Bind Response")
	body.AppendChild(ber.NewInteger(ber.ClassUniversal, ber.TypePrimitive, ber.TagEnumerated, result, "resultCode"))
	body.AppendChild(ber.NewString(ber.ClassUniversal, ber.TypePrimitive, ber.TagOctetString, "", "matchedDN"))
	body.AppendChild(ber.NewString(ber.ClassUniversal, ber.TypePrimitive, ber.TagOctetString, "", "diagnosticMessage"))
	response.AppendChild(body)
	_, _ = conn.Write(response.Bytes())
	_, _ = ber.ReadPacket(conn) // until the client goes
}
