package console_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestOneStatementAsItWasShown: what the dry run did not show does not run, and the dry run runs nothing.
func TestOneStatementAsItWasShown(t *testing.T) {
	w := newWorld(t)
	v := w.visitor().login("alice")
	const count = "SELECT count(*) FROM patients"
	for _, sql := range []string{
		"ANALYZE " + count, "COPY (" + count +
			") TO STDOUT", "BEGIN", "SET dpproxy.epsilon = 1",
		"PREPARE p AS " + count, "DECLARE c CURSOR WITH HOLD FOR " + count, "EXECUTE p",
		"SELECT count(*) FROM patients WHERE age = $1", "", ";", "-- nothing",
		"DROP TABLE patients", "COPY patients FROM STDIN", "LISTEN x", "\x00", strings.Repeat("(", 40000),
		strings.Repeat("a", 60000),
	} {
		for _, path := range []string{"/dryrun", "/ask"} {
			r := v.do(path, url.Values{"csrf": {v.csrf}, "sql": {sql}, "do": {"run"}}, "Dpproxy-Part", "1")
			if r.StatusCode != http.StatusOK || !strings.Contains(r.body, `class="refusal"`) {
				t.Errorf("%s of %.60q: %s\n%s", path, sql, r.Status, short(r.body))
			}
		}
	}
	v.ask(
		"SELECT set_config('dpproxy.epsilon', '1', false), set_config('dpproxy.margin', '1', false), set_config('dpproxy.notices', 'off', false)")
	if r := v.do("/dryrun", url.Values{"csrf": {v.csrf}, "sql": {count}}, "Dpproxy-Part", "1"); !strings.Contains(
		r.body, "ε 0.5") {
		t.Errorf("a statement has changed the price of the next: %s", r.body)
	}
	if spent := w.spent("alice"); spent != 0 {
		t.Errorf("%g was charged", spent)
	}
	if r := v.ask(count, "margin", "20'; DROP"); !strings.Contains(r.body, "invalid value for parameter") {
		t.Errorf("a margin of words: %s", r.body)
	}
	if r := v.ask(count, "step", "12", "margin", ""); !strings.Contains(r.body, "spent") ||
		!strings.Contains(r.body, "SET dpproxy.epsilon = &#39;1&#39;") {
		t.Errorf("the dearest step: %s", r.body)
	}
}

// TestGuessing: wrong passwords are the wire's: counted, slowed down, and alike for names that exist and others.
func TestGuessing(t *testing.T) {
	w := newWorld(t)
	var texts []string
	for _, user := range []string{"alice", "nobody"} {
		r := w.visitor().do("/login", url.Values{"user": {user}, "password": {"wrong"}})
		if r.StatusCode != http.StatusUnauthorized || r.Header.Get("Set-Cookie") != "" {
			t.Errorf("%s: %s", user, r.Status)
		}
		texts = append(texts, strings.ReplaceAll(r.body, user, "…"))
	}
	if texts[0] != texts[1] {
		t.Error("the page tells names that exist from others")
	}
	wants(t, "failed login", texts[0], "certificate")
	for _, form := range []url.Values{
		{},
		{"user": {"alice"}},
		{"password": {"demo"}},
		{"user": {"alice"}, "password": {strings.Repeat("x", 5000)}},
		{"user": {"alice\x00"}, "password": {"demo"}},
		{"user": {"alice' --"}, "password": {"demo"}},
		{"user": {"ALICE"}, "password": {"demo"}},
	} {
		if r := w.visitor().do("/login", form); r.StatusCode == http.StatusSeeOther {
			t.Errorf("%v is let in", form)
		}
	}
	if log := w.log.String(); !strings.Contains(log, "password authentication failed") ||
		strings.Contains(log, "password=demo") {
		t.Errorf("the log of failed logins:\n%s", log)
	}
}

// TestTokensAreGoodOnce: for one login, and for those that dpproxy made.
func TestTokensAreGoodOnce(t *testing.T) {
	w := newWorld(t)
	token := w.token()
	for _, c := range []struct {
		token string
		want  int
	}{
		{"", 401},
		{"administrator", 401},
		{strings.ToLower(token), 401},
		{token + " ", 401},
		{token, 303},
		{token, 401},
		{w.token(), 303},
	} {
		if r := w.visitor().do("/dba/login", url.Values{"token": {c.token}}); r.StatusCode != c.want {
			t.Errorf("%q: %s, want %d", c.token, r.Status, c.want)
		}
	}
}

// TestTLS: with a certificate there is HTTPS alone, and a cookie that pages without TLS can neither set nor get.
func TestTLS(t *testing.T) {
	cert, key := certificate(t)
	w := newWorld(t, "accounting: {method", "tls: {cert: "+cert+", key: "+key+"}\naccounting: {method")
	v := w.visitor()
	v.client.Transport = &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	r := v.do("/login", url.Values{"user": {"alice"}, "password": {"demo"}})
	if set := r.Header.Get("Set-Cookie"); r.StatusCode != http.StatusSeeOther ||
		!strings.HasPrefix(set, "__Host-dpproxy=") || !strings.Contains(set, "; Secure") {
		t.Errorf("%s %s", r.Status, set)
	}
	if r := v.read("/ask").ask("SELECT count(*) FROM patients"); !strings.Contains(r.body, "spent") {
		t.Errorf("%s %s", r.Status, r.body)
	}
	for host, want := range map[string]int{"console.test": 200, "evil.test": 421} {
		if r := v.do("/login", nil, "Host", host); r.StatusCode != want {
			t.Errorf("%s: %s", host, r.Status)
		}
	}
	old := &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS11}
	if conn, err := tls.Dial("tcp", w.proxy.ConsoleAddr().String(), old); err == nil {
		conn.Close()
		t.Error("TLS 1.1 is spoken")
	}
	plain := w.visitor()
	w.url = strings.Replace(w.url, "https", "http", 1)
	if r := plain.do("/login", nil); r.StatusCode != http.StatusBadRequest || strings.Contains(r.body, "password") {
		t.Errorf("HTTP is answered: %s %s", r.Status, r.body)
	}
}

// certificate makes one of console.test, signed by itself.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"console.test"},
		NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: der},
		key:  {Type: "PRIVATE KEY", Bytes: secret},
	} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// TestCrowds: sessions take no slot of the wire while they ask nothing, and many connections of one address are closed.
func TestCrowds(t *testing.T) {
	w := newWorld(t, "accounting: {method", "limits: {per_address: 1}\naccounting: {method")
	var visitors []*visitor
	for range 5 {
		visitors = append(visitors, w.visitor().login("alice"))
	}
	for i, v := range visitors {
		if r := v.read("/ask").ask("SELECT count(*) FROM patients"); !strings.Contains(r.body, "spent") {
			t.Errorf("session %d of five: %s\n%s", i, r.Status, short(r.body))
		}
	}
	var open []net.Conn
	closed := 0
	for range 60 {
		conn, err := net.Dial("tcp", w.proxy.ConsoleAddr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		open = append(open, conn)
	}
	for _, conn := range open {
		_ = conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		if _, err := bufio.NewReader(conn).ReadByte(); err == io.EOF {
			closed++
		}
	}
	if closed == 0 {
		t.Error("60 silent connections of one address stay open")
	}
}

// TestMemory: answers that an analyst's sessions keep are counted against the analyst's share. One more is a page with
// 503 and a hint, another analyst is answered beside it, and a logout gives back what the session has kept.
func TestMemory(t *testing.T) {
	w := newWorld(t, "accounting: {method", "limits: {memory: 16MB}\naccounting: {method")
	const large = "SELECT repeat('x', 900000) AS x FROM wards LIMIT 1"
	var sessions []*visitor
	var last reply
	for len(sessions) < 12 && last.Response == nil {
		v := w.visitor().login("alice")
		sessions = append(sessions, v)
		for range 2 {
			if r := v.ask(large); r.StatusCode != http.StatusOK {
				last = r
				break
			}
		}
	}
	if last.Response == nil || last.StatusCode != http.StatusServiceUnavailable || len(sessions) < 3 {
		t.Fatalf("%d sessions keep answers, then %v", len(sessions), last.Response)
	}
	wants(t, "a refusal", last.body, "out of memory for your connections", "limits.memory")
	if r := w.visitor().login("bob").ask(large); r.StatusCode != http.StatusOK {
		t.Errorf("another analyst: %s\n%s", r.Status, short(r.body))
	}
	saves := func(v *visitor) reply {
		return v.do("/saved", url.Values{"csrf": {v.csrf}, "name": {"one"}, "sql": {"SELECT 1"}})
	}
	if r := saves(sessions[0]); r.StatusCode != http.StatusSeeOther && !strings.Contains(r.body, "out of memory for your connections") {
		t.Errorf("saving a question: %s\n%s", r.Status, short(r.body))
	}
	if r := saves(w.visitor().login("bob")); r.StatusCode != http.StatusSeeOther {
		t.Errorf("another analyst saves one: %s\n%s", r.Status, short(r.body))
	}
	for _, v := range sessions[:2] {
		if r := v.do("/logout", url.Values{"csrf": {v.csrf}}); r.StatusCode != http.StatusSeeOther {
			t.Errorf("logout: %s", r.Status)
		}
	}
	if r := sessions[len(sessions)-1].ask(large); r.StatusCode != http.StatusOK {
		t.Errorf("after logouts: %s\n%s", r.Status, short(r.body))
	}
	v := sessions[len(sessions)-1]
	wants(t, "twelve at once", v.ask(strings.Repeat(large+";", 12)).body, "out of memory for your connections")
	if r := saves(v); r.StatusCode != http.StatusSeeOther && !strings.Contains(r.body, "out of memory for your connections") {
		t.Errorf("saving beside twelve answers: %s\n%s", r.Status, short(r.body))
	}
	wants(t, "the next question", v.ask("SELECT 1 AS one").body, "one")
}
