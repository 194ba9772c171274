package verifier

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"regexp"
	"strconv"

	"github.com/xdg-go/scram"
)

// form is how PostgreSQL stores a SCRAM secret (RFC 5803 in its own spelling, auth-scram.c).
var form = regexp.MustCompile(`^SCRAM-SHA-256\$(\d{1,9}):([A-Za-z0-9+/]+=*)\$([A-Za-z0-9+/]+=*):([A-Za-z0-9+/]+=*)$`)

var (
	errForm   = errors.New("is not a SCRAM-SHA-256 verifier (SCRAM-SHA-256$iterations:salt$StoredKey:ServerKey)")
	errLength = errors.New("is not a SCRAM-SHA-256 verifier: a part is not base64 of the right length")
)

// Parse reads a verifier. Its errors continue a sentence that begins with where the verifier was found, and never quote
// it.
func Parse(v string) (scram.StoredCredentials, error) {
	m := form.FindStringSubmatch(v)
	if m == nil {
		return scram.StoredCredentials{}, errForm
	}
	n, err := strconv.Atoi(m[1])
	if err != nil || n < 1 {
		return scram.StoredCredentials{}, errForm
	}
	var parts [3][]byte // salt, StoredKey, ServerKey
	for i, text := range m[2:] {
		if parts[i], err = base64.StdEncoding.DecodeString(text); err != nil || i > 0 && len(parts[i]) != sha256.Size {
			return scram.StoredCredentials{}, errLength
		}
	}
	return scram.StoredCredentials{
		KeyFactors: scram.KeyFactors{Salt: string(parts[0]), Iters: n}, StoredKey: parts[1], ServerKey: parts[2],
	}, nil
}
