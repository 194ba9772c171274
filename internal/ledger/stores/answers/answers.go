// Package answers encrypts the answers that a ledger keeps.
package answers

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"time"
)

// keyBytes is the length of the answers' key: AES-256.
const keyBytes = 32

// Sealer encrypts answers. Its key is in the ledger, which only the proxy may read. Encryption keeps answers out of
// what tools print of a file or a table, and authentication makes sure that one answer cannot be put in the place of
// another.
type Sealer struct{ aead cipher.AEAD }

// NewSealer returns the sealer of a key that NewKey made.
func NewSealer(key []byte) (Sealer, error) {
	if len(key) != keyBytes {
		return Sealer{}, fmt.Errorf("has %d bytes, not %d", len(key), keyBytes)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return Sealer{}, err
	}
	// Seal draws a nonce for each answer and puts it in front.
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return Sealer{aead}, err
}

// Hash returns the hash under which a store keeps the answer with the given key.
func Hash(key string) string {
	h := sha256.Sum256([]byte(key))
	return string(h[:])
}

// Seal encrypts an answer for its hash and expiry.
func (s Sealer) Seal(hash string, expires time.Time, answer []byte) []byte {
	return s.aead.Seal(nil, nil, answer, sealContext(hash, expires))
}

// Open decrypts an answer. It logs one that is damaged and reports it as not found: asking again is a new release,
// which is charged.
func (s Sealer) Open(log *slog.Logger, hash string, expires time.Time, sealed []byte) ([]byte, bool) {
	answer, err := s.aead.Open(nil, nil, sealed, sealContext(hash, expires))
	if err != nil {
		log.Error("a stored answer is damaged and is not used")
		return nil, false
	}
	return answer, true
}

// sealContext returns what an answer is bound to: its hash and its expiry.
func sealContext(hash string, expires time.Time) []byte {
	return expires.UTC().AppendFormat([]byte(hash), time.RFC3339Nano)
}

// NewKey returns a random key.
func NewKey() ([]byte, error) {
	key := make([]byte, keyBytes)
	_, err := rand.Read(key)
	return key, err
}
