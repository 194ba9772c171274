package server

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	ber "github.com/go-asn1-ber/asn1-ber"
	"github.com/go-ldap/ldap/v3"

	"github.com/dpproxy/dpproxy/internal/policy"
)

// ldapServer answers binds behind TLS: by the result that it has for a name and a password, else by invalidCredentials. It returns its address
// and the file of its certificate.
func ldapServer(t *testing.T, results map[[2]string]int64) (address, ca string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	ca = filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}})
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
	response.AppendChild(ber.NewInteger(ber.ClassUniversal, ber.TypePrimitive, ber.TagInteger, request.Children[0].Value, "MessageID"))
	body := ber.Encode(ber.ClassApplication, ber.TypeConstructed, ldap.ApplicationBindResponse, nil, "Bind Response")
	body.AppendChild(ber.NewInteger(ber.ClassUniversal, ber.TypePrimitive, ber.TagEnumerated, result, "resultCode"))
	body.AppendChild(ber.NewString(ber.ClassUniversal, ber.TypePrimitive, ber.TagOctetString, "", "matchedDN"))
	body.AppendChild(ber.NewString(ber.ClassUniversal, ber.TypePrimitive, ber.TagOctetString, "", "diagnosticMessage"))
	response.AppendChild(body)
	_, _ = conn.Write(response.Bytes())
	_, _ = ber.ReadPacket(conn) // until the client goes
}

// TestPasswordsOfADirectory: who is let in, and what is no verdict. Names are escaped, and spellings of other users are nobody's.
func TestPasswordsOfADirectory(t *testing.T) {
	url, ca := ldapServer(t, map[[2]string]int64{
		{"uid=alice,ou=people", "secret"}:        ldap.LDAPResultSuccess,
		{"uid=alice,ou=people", ""}:              ldap.LDAPResultSuccess,     // a bind as nobody
		{"uid=ALICE,ou=people", "secret"}:        ldap.LDAPResultUnavailable, // nobody asks for it
		{"uid=eve,ou=people", "secret"}:          ldap.LDAPResultUnavailable, // nor for this
		{`uid=x\,uid=alice,ou=people`, "secret"}: ldap.LDAPResultSuccess,
		{"uid=x,uid=alice,ou=people", "secret"}:  ldap.LDAPResultSuccess, // what it would be without escapes
		{"uid=locked,ou=people", "secret"}:       ldap.LDAPResultUnwillingToPerform,
		{"uid=later,ou=people", "secret"}:        ldap.LDAPResultUnavailable,
	})
	analysts := map[string]*policy.Analyst{}
	for _, name := range []string{"alice", "locked", "later", "x,uid=alice"} {
		analysts[name] = &policy.Analyst{Name: name}
	}
	i, err := newIdentity(context.Background(), &policy.Policy{Auth: policy.Auth{Method: policy.AuthLDAP, LDAP: policy.LDAP{URL: url, DN: "uid=%s,ou=people", CA: ca}}, Analysts: analysts})
	if err != nil {
		t.Fatal(err)
	}
	defer i.close()
	for _, c := range []struct {
		user, password string
		ok, fails      bool
	}{
		{"alice", "secret", true, false},
		{"alice", "Secret", false, false},
		{"alice", "", false, true}, // wire asks nobody for it; here the library refuses
		{"ALICE", "secret", false, false},
		{"eve", "secret", false, false},
		{"x,uid=alice", "secret", true, false}, // a strange name, and its own
		{"locked", "secret", false, false},
		{"later", "secret", false, true},
	} {
		analyst, ok, err := i.checkPassword(context.Background(), c.user, c.password)
		if ok != c.ok || (err != nil) != c.fails || ok && analyst != c.user {
			t.Errorf("%s, %q: %q, %v, %v", c.user, c.password, analyst, ok, err)
		}
	}
	i.directory.tls.RootCAs = x509.NewCertPool()
	if _, ok, err := i.checkPassword(context.Background(), "alice", "secret"); ok || err == nil {
		t.Errorf("a directory that nobody vouches for has seen the password: %v, %v", ok, err)
	}
}
