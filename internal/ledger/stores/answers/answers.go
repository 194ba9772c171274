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

// Sealer encrypts answers. The key lies in the ledger itself, which only the proxy may read: encryption keeps answers
// out of what tools print of a file or a table, and authentication keeps one answer from standing in for another.
type Sealer struct{ cipher.AEAD }

func NewSealer(key []byte) (Sealer, error) {
	if len(key) != keyBytes {
		return Sealer{}, fmt.Errorf("has %d bytes, not %d", len(key), keyBytes)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return Sealer{}, err
	}
	// A nonce is made at random for each answer and stored before it.
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
	return s.AEAD.Seal(nil, nil, answer, sealContext(hash, expires))
}

// Open decrypts an answer. One that does not open is as good as lost: its question is a new release and costs again.
func (s Sealer) Open(log *slog.Logger, hash string, expires time.Time, sealed []byte) ([]byte, bool) {
	answer, err := s.AEAD.Open(nil, nil, sealed, sealContext(hash, expires))
	if err != nil {
		log.Error("a stored answer is damaged and is not used")
		return nil, false
	}
	return answer, true
}

// sealContext is what an answer is bound to beside the key.
func sealContext(hash string, expires time.Time) []byte {
	return expires.UTC().AppendFormat([]byte(hash), time.RFC3339Nano)
}

// NewKey makes a key for the answers.
func NewKey() ([]byte, error) {
	key := make([]byte, keyBytes)
	_, err := rand.Read(key)
	return key, err
}
