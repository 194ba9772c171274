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
		if config.ClientCAs, err = authorities("tls.client_ca", t.ClientCA); err != nil {
			return nil, err
		}
		// Analysts with passwords need no certificate, but an invalid one is refused.
		config.ClientAuth = tls.VerifyClientCertIfGiven
	}
	return config, nil
}

// authorities reads who signs certificates from the PEM file of a policy's key. Without a file it is nil: those that
// the system trusts.
func authorities(key, file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s: no certificate in %s", key, file)
	}
	return pool, nil
}

// tlsConfig runs once per handshake, so that a reload reaches new connections.
func (s *Server) tlsConfig() *tls.Config {
	if st := s.state.Load(); st != nil {
		return st.tls
	}
	return nil
}
