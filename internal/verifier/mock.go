package verifier

import (
	"crypto/hmac"
	"crypto/sha256"

	"github.com/xdg-go/scram"
)

// Mock derives credentials that no password fits, for a user who does not exist. The salt is always the same for a name, so
// that a second attempt reveals nothing.
func Mock(secret []byte, user string) scram.StoredCredentials {
	derive := func(label string) []byte {
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(label + "\x00" + user))
		return mac.Sum(nil)
	}
	return scram.StoredCredentials{
		KeyFactors: scram.KeyFactors{Salt: string(derive("salt")[:saltBytes]), Iters: iterations},
		StoredKey:  derive("stored key"),
		ServerKey:  derive("server key"),
	}
}
