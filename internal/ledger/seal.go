package ledger

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

// sealer encrypts answers. The key lies in the ledger itself, which only the proxy may read: encryption keeps answers
// out of what tools print of a file or a table, and authentication keeps one answer from standing in for another.
type sealer struct{ cipher.AEAD }

func newSealer(key []byte) (sealer, error) {
	if len(key) != keyBytes {
		return sealer{}, fmt.Errorf("has %d bytes, not %d", len(key), keyBytes)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return sealer{}, err
	}
	// A nonce is made at random for each answer and stored before it.
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return sealer{aead}, err
}

// answerHash is under what an answer with the given key is stored.
func answerHash(key string) string {
	h := sha256.Sum256([]byte(key))
	return string(h[:])
}

// seal encrypts an answer for its hash and expiry.
func (s sealer) seal(hash string, expires time.Time, answer []byte) []byte {
	return s.Seal(nil, nil, answer, sealContext(hash, expires))
}

// open decrypts an answer. One that does not open is as good as lost: its question is a new release and costs again.
func (s sealer) open(log *slog.Logger, hash string, expires time.Time, sealed []byte) ([]byte, bool) {
	answer, err := s.Open(nil, nil, sealed, sealContext(hash, expires))
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

// newKey makes a key for the answers.
func newKey() ([]byte, error) {
	key := make([]byte, keyBytes)
	_, err := rand.Read(key)
	return key, err
}
