package server

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"

	"github.com/dpproxy/dpproxy/internal/policy"
)

// tlsSource makes the TLS configuration of one policy. Where it is nil, TLS is refused.
type tlsSource *tls.Config

// loadTLS reads certificate, key and client CA.
func loadTLS(t *policy.TLS) (tlsSource, error) {
	if t == nil {
		return nil, nil
	}
	certificate, err := tls.LoadX509KeyPair(t.Cert, t.Key)
	if err != nil {
		return nil, fmt.Errorf("tls: %w", err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	if t.ClientCA != "" {
		pem, err := os.ReadFile(t.ClientCA)
		if err != nil {
			return nil, fmt.Errorf("tls.client_ca: %w", err)
		}
		config.ClientCAs = x509.NewCertPool()
		if !config.ClientCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("tls.client_ca: no certificate in %s", t.ClientCA)
		}
		// Analysts with passwords need no certificate, but an invalid one is refused.
		config.ClientAuth = tls.VerifyClientCertIfGiven
	}
	return config, nil
}

// tlsConfig runs once per handshake, so that a reload reaches new connections.
func (s *Server) tlsConfig() *tls.Config {
	if st := s.state.Load(); st != nil {
		return st.tls
	}
	return nil
}
