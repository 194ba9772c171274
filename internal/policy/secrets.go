package policy

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"
)

// secret is ${NAME}, from the environment, or ${file:PATH}, as orchestrators mount secrets.
var secret = regexp.MustCompile(`\$\{(?:([A-Za-z_][A-Za-z0-9_]*)|file:([^}]+))\}`)

// maxSecret bounds a file of ${file:PATH}, in bytes: such a path may name a device.
const maxSecret = 64 << 10

// connection replaces secrets in a connection string. One that is not there is noted: only a command that uses the key
// fails.
func (d *document) connection(p *Policy, path, key, s string) (string, bool) {
	s, err := d.expand(s)
	if err != nil {
		p.Databases.Unset[key] = err.Error()
		p.missing[key] = d.problem(path, "%s", err)
		return "", false
	}
	return s, true
}

// expand replaces secrets. The error is that of the first that is not there, and never quotes another.
func (d *document) expand(s string) (string, error) {
	var missing error
	s = secret.ReplaceAllStringFunc(s, func(m string) string {
		parts := secret.FindStringSubmatch(m)
		var text string
		var err error
		if name := parts[1]; name != "" {
			var ok bool
			if text, ok = d.getenv(name); !ok || text == "" {
				err = fmt.Errorf("the environment variable %s is not set", name)
			}
		} else {
			text, err = readSecret(d.resolve(parts[2]))
		}
		if missing == nil {
			missing = err
		}
		return text
	})
	return s, missing
}

// readSecret reads a file without the line break at its end.
func readSecret(path string) (string, error) {
	f, err := os.Open(path)
	if err == nil {
		defer f.Close()
		var data []byte
		if data, err = io.ReadAll(io.LimitReader(f, maxSecret+1)); err == nil && len(data) > maxSecret {
			return "", fmt.Errorf("the file %s is longer than %d bytes, which no secret is", path, maxSecret)
		}
		if text := strings.TrimRight(string(data), "\r\n"); err == nil && text != "" {
			return text, nil
		}
	}
	var cause *fs.PathError
	switch {
	case err == nil:
		return "", fmt.Errorf("the file %s is empty", path)
	case errors.As(err, &cause):
		return "", fmt.Errorf("the file %s cannot be read: %w", path, cause.Err)
	}
	return "", fmt.Errorf("the file %s cannot be read: %w", path, err)
}
