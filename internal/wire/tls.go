package wire

import (
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/xdg-go/scram"
)

// alpnPostgreSQL is the protocol name that PostgreSQL 17 registered for ALPN; direct TLS requires it.
const alpnPostgreSQL = "postgresql"

// tlsRecordHandshake is the first byte of a TLS handshake record: no length of a startup packet begins with it.
const tlsRecordHandshake = 0x16

// startTLS runs the server's side of the handshake over raw and remembers which certificate it showed.
func (c *conn) startTLS(ctx context.Context, raw net.Conn, direct bool) error {
	base := c.server.tlsConfig()
	if base == nil {
		return errors.New("TLS is not configured")
	}
	config := base.Clone()
	config.MinVersion = max(config.MinVersion, tls.VersionTLS12)
	config.NextProtos = []string{alpnPostgreSQL}
	config.GetConfigForClient = nil
	// A resumed session shows no certificate, hence has no channel binding; and libpq uses no tickets.
	config.SessionTicketsDisabled = true
	config.Certificates = nil // without them GetCertificate is asked even when the client names no server
	var shown *tls.Certificate
	config.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		var err error
		shown, err = chooseCertificate(base, hello)
		return shown, err
	}
	t := tls.Server(raw, config)
	if err := t.HandshakeContext(ctx); err != nil {
		return fmt.Errorf("TLS handshake: %w", err)
	}
	if direct && t.ConnectionState().NegotiatedProtocol != alpnPostgreSQL {
		return errors.New("direct TLS without ALPN protocol \"postgresql\"")
	}
	c.tls = t
	c.stream = t
	c.binding = endPointBinding(shown)
	return nil
}

func (s *Server) tlsConfig() *tls.Config {
	if s.config.TLS == nil {
		return nil
	}
	return s.config.TLS()
}

func chooseCertificate(config *tls.Config, hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if config.GetCertificate != nil {
		if cert, err := config.GetCertificate(hello); cert != nil || err != nil {
			return cert, err
		}
	}
	if len(config.Certificates) == 0 {
		return nil, errors.New("no server certificate")
	}
	for i := range config.Certificates {
		if hello.SupportsCertificate(&config.Certificates[i]) == nil {
			return &config.Certificates[i], nil
		}
	}
	return &config.Certificates[0], nil
}

// endPointBinding is tls-server-end-point of RFC 5929: the hash of the certificate that was shown, with the hash of its
// own signature, SHA-256 in the place of MD5 and SHA-1. A signature without such a hash (Ed25519) gives no binding.
func endPointBinding(cert *tls.Certificate) scram.ChannelBinding {
	if cert == nil || len(cert.Certificate) == 0 {
		return scram.ChannelBinding{}
	}
	leaf, err := x509.ParseCertificate(cert.Certificate[0])
	if err != nil {
		return scram.ChannelBinding{}
	}
	var hash []byte
	switch leaf.SignatureAlgorithm {
	case x509.MD5WithRSA, x509.SHA1WithRSA, x509.ECDSAWithSHA1, x509.SHA256WithRSA, x509.SHA256WithRSAPSS,
		x509.ECDSAWithSHA256:
		sum := sha256.Sum256(leaf.Raw)
		hash = sum[:]
	case x509.SHA384WithRSA, x509.SHA384WithRSAPSS, x509.ECDSAWithSHA384:
		sum := sha512.Sum384(leaf.Raw)
		hash = sum[:]
	case x509.SHA512WithRSA, x509.SHA512WithRSAPSS, x509.ECDSAWithSHA512:
		sum := sha512.Sum512(leaf.Raw)
		hash = sum[:]
	default:
		return scram.ChannelBinding{}
	}
	return scram.ChannelBinding{Type: scram.ChannelBindingTLSServerEndpoint, Data: hash}
}

// replayed wraps a connection whose first byte was read to see whether it speaks TLS.
type replayed struct {
	net.Conn
	prefix []byte
}

func (r *replayed) Read(p []byte) (int, error) {
	if len(r.prefix) > 0 {
		n := copy(p, r.prefix)
		r.prefix = r.prefix[n:]
		return n, nil
	}
	return r.Conn.Read(p)
}

// peek reads one byte and returns a connection that will deliver it again.
func peek(conn net.Conn) (byte, *replayed, error) {
	var b [1]byte
	if _, err := io.ReadFull(conn, b[:]); err != nil {
		return 0, nil, err
	}
	return b[0], &replayed{Conn: conn, prefix: b[:]}, nil
}
