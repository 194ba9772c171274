package wire

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgproto3/v2"
	"github.com/xdg-go/scram"
)

const (
	mechanismPlain = "SCRAM-SHA-256"
	mechanismPlus  = "SCRAM-SHA-256-PLUS"
	// mockIterations and mockSaltSize are PostgreSQL's SCRAM_SHA_256_DEFAULT_ITERATIONS and SCRAM_DEFAULT_SALT_LEN
	// (src/include/common/scram-common.h): a user who does not exist looks like any other.
	mockIterations = 4096
	mockSaltSize   = 16
)

// scram runs one exchange and returns the analyst whose password the client knows. The user name inside the exchange is
// ignored, as PostgreSQL does: pgx sends "", JDBC and node-postgres "*".
func (c *conn) scram(ctx context.Context, user string) (analyst string, err error) {
	credential, stored, err := c.lookup(ctx, user)
	if err != nil {
		return "", err
	}
	server, err := scram.SHA256.NewServer(func(string) (scram.StoredCredentials, error) { return stored, nil })
	if err != nil {
		return "", err
	}
	mechanism, first, err := c.saslStart()
	if err != nil {
		return "", err
	}
	conversation := server.NewConversation()
	if c.binding.IsSupported() {
		conversation = server.NewConversationWithChannelBinding(c.binding)
	}
	challenge, err := conversation.Step(first)
	if err != nil || plusFlag(first) != (mechanism == mechanismPlus) || conversation.AuthzID() != "" {
		return "", fatal(codeProtocolViolation, "malformed SCRAM message")
	}
	if err := c.sendNow(&pgproto3.AuthenticationSASLContinue{Data: []byte(challenge)}); err != nil {
		return "", err
	}
	final, err := c.readPassword()
	if err != nil {
		return "", err
	}
	proof, stepErr := conversation.Step(string(final))
	if err := c.server.throttle.wait(ctx, c.host); err != nil {
		return "", err
	}
	if stepErr != nil || !conversation.Valid() || credential.Analyst == "" {
		c.server.throttle.failed(c.host)
		c.server.config.Metrics.LoginFailed()
		c.log.Info("password authentication failed", "user", user)
		return "", fatal(codeInvalidPassword, "password authentication failed for user %q", user)
	}
	c.server.throttle.succeeded(c.host)
	return credential.Analyst, c.w.send(&pgproto3.AuthenticationSASLFinal{Data: []byte(proof)})
}

// lookup returns the user's keys, or keys that no password fits: then the analyst is empty.
func (c *conn) lookup(ctx context.Context, user string) (Credential, scram.StoredCredentials, error) {
	credential, ok, err := c.server.config.Authenticator.Verifier(ctx, user)
	if err != nil {
		return Credential{}, scram.StoredCredentials{}, fmt.Errorf("look up the verifier of %q: %w", user, err)
	}
	mock := c.server.mockCredentials(user)
	if !ok || credential.Analyst == "" {
		return Credential{}, mock, nil
	}
	stored, err := parseVerifier(credential.Verifier)
	if err != nil {
		c.log.Error("unusable SCRAM verifier", "analyst", credential.Analyst, "error", err)
		return Credential{}, mock, nil
	}
	return credential, stored, nil
}

// mockCredentials derives keys for a user that does not exist: always the same salt, so that asking twice tells nothing.
func (s *Server) mockCredentials(user string) scram.StoredCredentials {
	derive := func(label string) []byte {
		mac := hmac.New(sha256.New, s.config.MockSecret)
		mac.Write([]byte(label + "\x00" + user))
		return mac.Sum(nil)
	}
	return scram.StoredCredentials{
		KeyFactors: scram.KeyFactors{Salt: string(derive("salt")[:mockSaltSize]), Iters: mockIterations},
		StoredKey:  derive("stored key"),
		ServerKey:  derive("server key"),
	}
}

// saslStart offers the mechanisms and reads the client's choice and first message.
func (c *conn) saslStart() (mechanism, first string, err error) {
	mechanisms := []string{mechanismPlain}
	if c.binding.IsSupported() {
		mechanisms = []string{mechanismPlus, mechanismPlain}
	}
	if err := c.sendNow(&pgproto3.AuthenticationSASL{AuthMechanisms: mechanisms}); err != nil {
		return "", "", err
	}
	body, err := c.readPassword()
	if err != nil {
		return "", "", err
	}
	mechanism, first, err = parseSASLInitial(body)
	if err != nil {
		return "", "", err
	}
	for _, m := range mechanisms {
		if m == mechanism {
			return mechanism, first, nil
		}
	}
	return "", "", fatal(codeProtocolViolation, "client selected an invalid SASL authentication mechanism")
}

// parseSASLInitial reads a SASLInitialResponse strictly; the codec panics on short ones.
func parseSASLInitial(body []byte) (mechanism, data string, err error) {
	name, rest, ok := strings.Cut(string(body), "\x00")
	if !ok || len(rest) < 4 {
		return "", "", fatal(codeProtocolViolation, "insufficient data left in message")
	}
	length := binary.BigEndian.Uint32([]byte(rest[:4]))
	if int64(length) != int64(len(rest)-4) {
		return "", "", fatal(codeProtocolViolation, "invalid message format")
	}
	return name, rest[4:], nil
}

// readPassword reads one message of the authentication phase, in which no type but 'p' is legal.
func (c *conn) readPassword() ([]byte, error) {
	kind, size, err := readHeader(c.r)
	if err != nil {
		return nil, err
	}
	if kind != 'p' {
		return nil, fatal(codeProtocolViolation, "expected SASL response, got message type %d", kind)
	}
	if size > maxStartupPacket {
		return nil, fatal(codeProtocolViolation, "invalid message length: %d bytes during authentication", size)
	}
	f, err := readBody(c.r, kind, size, maxStartupPacket)
	return f.body, err
}

// plusFlag tells whether a client-first-message asks for channel binding.
func plusFlag(first string) bool { return strings.HasPrefix(first, "p=") }

// parseVerifier reads PostgreSQL's form SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>.
func parseVerifier(v string) (scram.StoredCredentials, error) {
	var none scram.StoredCredentials
	parts := strings.Split(v, "$")
	if len(parts) != 3 || parts[0] != mechanismPlain {
		return none, errors.New("not of the form SCRAM-SHA-256$iterations:salt$StoredKey:ServerKey")
	}
	iterations, salt, ok1 := strings.Cut(parts[1], ":")
	storedKey, serverKey, ok2 := strings.Cut(parts[2], ":")
	n, err := strconv.Atoi(iterations)
	if !ok1 || !ok2 || err != nil || n < 1 {
		return none, errors.New("not of the form SCRAM-SHA-256$iterations:salt$StoredKey:ServerKey")
	}
	var decoded [3][]byte
	for i, s := range []string{salt, storedKey, serverKey} {
		if decoded[i], err = base64.StdEncoding.DecodeString(s); err != nil {
			return none, fmt.Errorf("not base64: %w", err)
		}
	}
	if len(decoded[0]) == 0 || len(decoded[1]) != sha256.Size || len(decoded[2]) != sha256.Size {
		return none, errors.New("salt or keys of the wrong length")
	}
	return scram.StoredCredentials{
		KeyFactors: scram.KeyFactors{Salt: string(decoded[0]), Iters: n}, StoredKey: decoded[1], ServerKey: decoded[2],
	}, nil
}
