package wire

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/jackc/pgproto3/v2"
	"github.com/xdg-go/scram"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/verifier"
)

const (
	mechanismPlain = "SCRAM-SHA-256"
	mechanismPlus  = "SCRAM-SHA-256-PLUS"
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
		return "", fatal(pgerr.ProtocolViolation, "malformed SCRAM message")
	}
	if err := c.sendNow(&pgproto3.AuthenticationSASLContinue{Data: []byte(challenge)}); err != nil {
		return "", err
	}
	final, err := c.readPassword()
	if err != nil {
		return "", err
	}
	proof, stepErr := conversation.Step(string(final))
	if err := c.server.throttle.wait(ctx, user, c.host); err != nil {
		return "", err
	}
	if stepErr != nil || !conversation.Valid() || credential.Analyst == "" {
		c.server.throttle.failed(user, c.host)
		c.server.config.Metrics.LoginFailed()
		c.log.Info("password authentication failed", "user", user)
		return "", fatal(pgerr.InvalidPassword, "password authentication failed for user %q", user)
	}
	c.server.throttle.succeeded(user, c.host)
	return credential.Analyst, c.w.send(&pgproto3.AuthenticationSASLFinal{Data: []byte(proof)})
}

// lookup returns the user's keys, or keys that no password fits: then the analyst is empty.
func (c *conn) lookup(ctx context.Context, user string) (Credential, scram.StoredCredentials, error) {
	credential, ok, err := c.server.config.Authenticator.Verifier(ctx, user)
	if err != nil {
		return Credential{}, scram.StoredCredentials{}, fmt.Errorf("look up the verifier of %q: %w", user, err)
	}
	mock := verifier.Mock(c.server.config.MockSecret, user, c.server.config.Authenticator.Shapes())
	if !ok || credential.Analyst == "" {
		return Credential{}, mock, nil
	}
	stored, err := verifier.Parse(credential.Verifier)
	if err != nil {
		c.log.Error("unusable SCRAM verifier", "analyst", credential.Analyst, "error", err)
		return Credential{}, mock, nil
	}
	return credential, stored, nil
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
	return "", "", fatal(pgerr.ProtocolViolation, "client selected an invalid SASL authentication mechanism")
}

// parseSASLInitial reads a SASLInitialResponse strictly; the codec panics on short ones.
func parseSASLInitial(body []byte) (mechanism, data string, err error) {
	name, rest, ok := strings.Cut(string(body), "\x00")
	if !ok || len(rest) < 4 {
		return "", "", fatal(pgerr.ProtocolViolation, "insufficient data left in message")
	}
	length := binary.BigEndian.Uint32([]byte(rest[:4]))
	if int64(length) != int64(len(rest)-4) {
		return "", "", fatal(pgerr.ProtocolViolation, "invalid message format")
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
		return nil, fatal(pgerr.ProtocolViolation, "expected SASL response, got message type %d", kind)
	}
	if size > maxStartupPacket {
		return nil, fatal(pgerr.ProtocolViolation, "invalid message length: %d bytes during authentication", size)
	}
	f, err := readBody(c.r, kind, size, nil)
	return f.body, err
}

// plusFlag reports whether a client-first-message asks for channel binding.
func plusFlag(first string) bool { return strings.HasPrefix(first, "p=") }
