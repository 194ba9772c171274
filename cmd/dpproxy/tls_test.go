package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// authority signs certificates for tests.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test CA"}, IsCA: true,
		BasicConstraintsValid: true, NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<35, 0),
	}
	a.cert, a.key = a.sign(template, nil, nil)
	return a
}

func (a *authority) sign(template, parent *x509.Certificate, signer *ecdsa.PrivateKey) (*x509.Certificate,
	*ecdsa.PrivateKey,
) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert, key
}

// issue returns a certificate for a name.
func (a *authority) issue(name string, serial int64) tls.Certificate {
	cert, key := a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name},
		DNSNames: []string{name}, NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<35, 0),
	}, a.cert, a.key)
	return tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key}
}

// write stores certificate and key as PEM.
func (a *authority) write(dir, name string, c tls.Certificate) {
	a.t.Helper()
	key, err := x509.MarshalECPrivateKey(c.PrivateKey.(*ecdsa.PrivateKey))
	if err != nil {
		a.t.Fatal(err)
	}
	for suffix, block := range map[string]*pem.Block{
		".crt": {Type: "CERTIFICATE", Bytes: c.Certificate[0]}, ".key": {Type: "EC PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(filepath.Join(dir, name+suffix), pem.EncodeToMemory(block), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
}

// TestTLS: certificates name analysts, and the server's own is taken over on SIGHUP.
func TestTLS(t *testing.T) {
	ca, s := newAuthority(t), newSite(t)
	dir := filepath.Dir(s.policy)
	ca.write(dir, "server", ca.issue("localhost", 10))
	ca.write(dir, "ca", tls.Certificate{Certificate: [][]byte{ca.cert.Raw}, PrivateKey: ca.key})
	s.write(strings.Replace(s.text, "analysts:\n", "tls: {cert: server.crt, key: server.key, client_ca: ca.crt}\n"+
		"analysts:\n  app: {certificate: app.example, budget: {epsilon: 1}}\n", 1))
	s.start()

	// dial connects as user with a client certificate, and tells which certificate the server showed.
	dial := func(user string, certificates ...tls.Certificate) (serial int64, err error) {
		config, err := pgx.ParseConfig("postgres://" + user + ":secret@" + s.addr + "/" + s.database + "?sslmode=require")
		if err != nil {
			t.Fatal(err)
		}
		roots := x509.NewCertPool()
		roots.AddCert(ca.cert)
		config.TLSConfig = &tls.Config{
			RootCAs: roots, ServerName: "localhost", Certificates: certificates,
			VerifyConnection: func(state tls.ConnectionState) error {
				serial = state.PeerCertificates[0].SerialNumber.Int64()
				return nil
			},
		}
		conn, err := pgx.ConnectConfig(context.Background(), config)
		if err != nil {
			return serial, err
		}
		defer conn.Close(context.Background())
		_, err = s.count(conn)
		return serial, err
	}
	if serial, err := dial("app", ca.issue("app.example", 20)); err != nil || serial != 10 {
		t.Errorf("app by certificate: %v, the server's is %d", err, serial)
	}
	if _, err := dial("alice"); err != nil {
		t.Errorf("alice by password over TLS: %v", err)
	}
	var refused *pgconn.PgError
	if _, err := dial("app"); !errors.As(err, &refused) || refused.Code != "28P01" {
		t.Errorf("app without a certificate: %v", err)
	}
	if _, err := dial("app", ca.issue("other.example", 21)); !errors.As(err, &refused) {
		t.Errorf("app with another's certificate: %v", err)
	}
	if _, err := dial("app", newAuthority(t).issue("app.example", 22)); err == nil {
		t.Error("app is in with a stranger's certificate")
	}

	ca.write(dir, "server", ca.issue("localhost", 11))
	s.signal(syscall.SIGHUP)
	s.await("policy reloaded")
	if serial, err := dial("alice"); err != nil || serial != 11 {
		t.Errorf("after the reload: %v, the server's is %d", err, serial)
	}
}
