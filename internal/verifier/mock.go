package verifier

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"

	"github.com/xdg-go/scram"
)

// Shape is what a verifier shows to everybody who names its user.
type Shape struct {
	User                  string
	Iterations, SaltBytes int
}

// ShapeOf returns the shape of a user's verifier; false: it is none.
func ShapeOf(user, verifier string) (Shape, bool) {
	v, err := Parse(verifier)
	return Shape{user, v.Iters, len(v.Salt)}, err == nil
}

// Mock derives credentials that no password fits, for a user who does not exist. They look like those of one of the
// users with the shapes, which the secret chooses: where all have one shape, so do these. What is shown is always the
// same for a name, so that a second attempt reveals nothing, and changes for few names when a user is added.
func Mock(secret []byte, user string, shapes []Shape) scram.StoredCredentials {
	derive := func(label string) []byte {
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(label + "\x00" + user))
		return mac.Sum(nil)
	}
	shape := Shape{Iterations: iterations, SaltBytes: saltBytes}
	var highest []byte
	for _, s := range shapes { // rendezvous hashing
		if weight := derive("shape of\x00" + s.User); bytes.Compare(weight, highest) > 0 {
			highest, shape = weight, s
		}
	}
	var salt []byte
	for label := "salt"; len(salt) < shape.SaltBytes; label += "+" {
		salt = append(salt, derive(label)...)
	}
	return scram.StoredCredentials{
		KeyFactors: scram.KeyFactors{Salt: string(salt[:shape.SaltBytes]), Iters: shape.Iterations},
		StoredKey:  derive("stored key"),
		ServerKey:  derive("server key"),
	}
}
