// Package verifier makes and reads SCRAM-SHA-256 verifiers: what PostgreSQL and the policy file store in place of a
// password.
package verifier

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/xdg-go/scram"
)

const (
	// iterations and saltBytes are PostgreSQL's (src/include/common/scram-common.h).
	iterations = 4096
	saltBytes  = 16
)

// New returns SCRAM-SHA-256$iterations:salt$StoredKey:ServerKey with a fresh salt.
//
// A password that SASLprep refuses, such as one with an emoji, is taken as it is, because PostgreSQL and libpq do so
// (pg_saslprep, src/common/saslprep.c).
func New(password string) (string, error) {
	if password == "" {
		return "", errors.New("the password is empty")
	}
	client, err := scram.SHA256.NewClient("", password, "")
	if err != nil {
		if client, err = scram.SHA256.NewClientUnprepped("", password, ""); err != nil {
			return "", err
		}
	}
	salt := make([]byte, saltBytes)
	rand.Read(salt) // never fails: it ends the program instead
	keys, err := client.GetStoredCredentialsWithError(scram.KeyFactors{Salt: string(salt), Iters: iterations})
	if err != nil {
		return "", err
	}
	b64 := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("SCRAM-SHA-256$%d:%s$%s:%s", iterations, b64(salt), b64(keys.StoredKey), b64(keys.ServerKey)), nil
}
