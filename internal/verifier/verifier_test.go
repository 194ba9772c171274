package verifier

import (
	"encoding/base64"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/xdg-go/scram"
)

// parse is written against the format's description, not against New.
func parse(t *testing.T, v string) scram.StoredCredentials {
	t.Helper()
	parts := strings.FieldsFunc(strings.TrimPrefix(v, "SCRAM-SHA-256$"), func(r rune) bool { return r == '$' || r == ':' })
	if !strings.HasPrefix(v, "SCRAM-SHA-256$") || len(parts) != 4 {
		t.Fatalf("%q is not a verifier", v)
	}
	n, err := strconv.Atoi(parts[0])
	if err != nil {
		t.Fatal(err)
	}
	decode := func(s string) []byte {
		b, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	return scram.StoredCredentials{
		KeyFactors: scram.KeyFactors{Salt: string(decode(parts[1])), Iters: n},
		StoredKey:  decode(parts[2]), ServerKey: decode(parts[3]),
	}
}

// login runs a whole exchange.
func login(t *testing.T, stored scram.StoredCredentials, password string) error {
	t.Helper()
	server, err := scram.SHA256.NewServer(func(string) (scram.StoredCredentials, error) { return stored, nil })
	if err != nil {
		t.Fatal(err)
	}
	client, err := scram.SHA256.NewClient("", password, "")
	if err != nil {
		if client, err = scram.SHA256.NewClientUnprepped("", password, ""); err != nil {
			t.Fatal(err)
		}
	}
	c, s := client.NewConversation(), server.NewConversation()
	message := ""
	for !c.Done() {
		if message, err = c.Step(message); err != nil {
			return err
		}
		if c.Done() {
			break
		}
		if message, err = s.Step(message); err != nil {
			return err
		}
	}
	return nil
}

func TestVerifierLetsInItsPasswordOnly(t *testing.T) {
	for _, password := range []string{"secret", " spaces kept ", "пароль", "🐘", strings.Repeat("x", 1000)} {
		v, err := New(password)
		if err != nil {
			t.Fatal(err)
		}
		stored := parse(t, v)
		if stored.Iters != 4096 || len(stored.Salt) != 16 || len(stored.StoredKey) != 32 || len(stored.ServerKey) != 32 {
			t.Errorf("unusual sizes in %q", v)
		}
		if err := login(t, stored, password); err != nil {
			t.Errorf("%q is refused: %v", password, err)
		}
		if err := login(t, stored, password+"x"); err == nil {
			t.Errorf("%q lets in another password", password)
		}
	}
}

func TestSaltIsFresh(t *testing.T) {
	a, _ := New("secret")
	b, _ := New("secret")
	if a == b {
		t.Error("two verifiers of one password are equal")
	}
}

func TestEmptyPasswordIsRefused(t *testing.T) {
	if v, err := New(""); err == nil {
		t.Errorf("got %q", v)
	}
}

func TestParse(t *testing.T) {
	key := strings.Repeat("A", 43) + "="
	for v, ok := range map[string]bool{
		"SCRAM-SHA-256$4096:c2FsdA==$" + key + ":" + key:   true,
		"SCRAM-SHA-256$0:c2FsdA==$" + key + ":" + key:      false,
		"SCRAM-SHA-256$4096:$" + key + ":" + key:           false,
		"SCRAM-SHA-256$4096:c2FsdA==$" + key + ":QUFB":     false,
		"SCRAM-SHA-256$4096:c2FsdA==$" + key:               false,
		"SCRAM-SHA-256$x:c2FsdA==$" + key + ":" + key:      false,
		"SCRAM-SHA-512$4096:c2FsdA==$" + key + ":" + key:   false,
		"SCRAM-SHA-256$4096:c2FsdA==$" + key + ":" + "!!":  false,
		"SCRAM-SHA-256$4096:c2Fs\ndA==$" + key + ":" + key: false,
		"md5abc": false,
		"":       false,
	} {
		if _, err := Parse(v); (err == nil) != ok {
			t.Errorf("%q: %v, want success %v", v, err, ok)
		}
	}
}

func TestParseReadsWhatNewWrites(t *testing.T) {
	v, err := New("secret")
	if err != nil {
		t.Fatal(err)
	}
	got, err := Parse(v)
	if err != nil || !reflect.DeepEqual(got, parse(t, v)) {
		t.Errorf("%q is %+v, %v", v, got, err)
	}
}

// TestMockLooksLikeAnyOther: what does not depend on the password is as New makes it, and the same for a name.
func TestMockLooksLikeAnyOther(t *testing.T) {
	secret := []byte("of the server")
	a := Mock(secret, "eve", nil)
	if a.Iters != 4096 || len(a.Salt) != 16 || len(a.StoredKey) != 32 || len(a.ServerKey) != 32 {
		t.Errorf("unusual sizes in %+v", a)
	}
	if !reflect.DeepEqual(a, Mock(secret, "eve", nil)) || reflect.DeepEqual(a, Mock(secret, "mallory", nil)) ||
		reflect.DeepEqual(a, Mock([]byte("another"), "eve", nil)) {
		t.Error("credentials do not follow the name and the secret")
	}
}

// TestMocksHaveTheShapesOfAnalysts: one for a name, that of one of the analysts, in their proportions; another analyst
// changes few.
func TestMocksHaveTheShapesOfAnalysts(t *testing.T) {
	secret := []byte("of the server")
	if m := Mock(secret, "eve", []Shape{{"alice", 15000, 24}}); m.Iters != 15000 || len(m.Salt) != 24 {
		t.Errorf("%d iterations and %d bytes of salt, where all analysts have 15000 and 24", m.Iters, len(m.Salt))
	}
	mixed := []Shape{{"a", 4096, 16}, {"b", 4096, 16}, {"c", 15000, 16}, {"d", 4096, 16}}
	const names = 4000
	many, changed := 0, 0
	for i := range names {
		name := "user" + strconv.Itoa(i)
		m := Mock(secret, name, mixed)
		if m.Iters == 15000 {
			many++
		}
		if Mock(secret, name, append([]Shape{{"e", 9000, 16}}, mixed...)).Iters != m.Iters {
			changed++
		}
	}
	// A quarter, and a fifth: 8 standard deviations are about 220.
	if many < names/4-220 || many > names/4+220 || changed < names/5-220 || changed > names/5+220 {
		t.Errorf("of %d names %d look like the one analyst with 15000 iterations; a fifth analyst changes %d", names, many,
			changed)
	}
}
