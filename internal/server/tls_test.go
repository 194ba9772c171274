package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dpproxy/dpproxy/internal/policy"
)

// pair writes a self-signed certificate and its key.
func pair(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"},
		NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<35, 0),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, bytes []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("cert.pem", "CERTIFICATE", der), write("key.pem", "EC PRIVATE KEY", keyDER)
}

func TestLoadTLS(t *testing.T) {
	cert, key := pair(t, t.TempDir())
	if c, err := loadTLS(nil); c != nil || err != nil {
		t.Errorf("without tls: %v, %v", c, err)
	}
	c, err := loadTLS(&policy.TLS{Cert: cert, Key: key})
	if err != nil || c.ClientAuth != tls.NoClientCert || c.MinVersion < tls.VersionTLS12 || len(c.Certificates) != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	c, err = loadTLS(&policy.TLS{Cert: cert, Key: key, ClientCA: cert})
	if err != nil || c.ClientAuth != tls.VerifyClientCertIfGiven || c.ClientCAs == nil {
		t.Errorf("with client_ca: %v", err)
	}
	for want, bad := range map[string]*policy.TLS{
		"tls: ":                            {Cert: cert, Key: cert},
		"no such file":                     {Cert: cert + "x", Key: key},
		"tls.client_ca: no certificate in": {Cert: cert, Key: key, ClientCA: key},
		"tls.client_ca: open":              {Cert: cert, Key: key, ClientCA: cert + "x"},
	} {
		if _, err := loadTLS(bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", bad, err, want)
		}
	}
}
