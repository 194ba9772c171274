package console

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/dpproxy/dpproxy/internal/wire"
)

func TestSessionsExpire(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := newSessions()
	s.now = func() time.Time { return now }
	begin := func() string {
		id, ok := s.begin(&session{host: "h"})
		if !ok {
			t.Fatal("no session")
		}
		return id
	}
	id := begin()
	if s.find(id, "h") == nil || s.find(id, "elsewhere") != nil || s.find(id+"x", "h") != nil || s.find("", "h") != nil {
		t.Error("a session is found by its identifier, at its address, alone")
	}
	now = now.Add(idleTime + time.Second)
	if s.find(id, "h") != nil {
		t.Error("a silent session lives on")
	}
	id = begin()
	for range 100 {
		now = now.Add(idleTime / 2)
		if s.find(id, "h") == nil {
			break
		}
	}
	if s.find(id, "h") != nil {
		t.Error("a busy session never ends")
	}
	begin()
	now = now.Add(fullTime + time.Second)
	if s.sweep(false); len(s.open) != 0 {
		t.Errorf("%d sessions are left", len(s.open))
	}
	for range maxAdministrators {
		begin()
	}
	if _, ok := s.begin(&session{host: "h"}); ok {
		t.Error("there is no end of administrators")
	}
}

func TestAnswersKept(t *testing.T) {
	x := &session{}
	for i := range keptAnswers + 2 {
		if id := x.keep([]*answer{{}})[0]; id != i+1 {
			t.Errorf("answer %d has the number %d", i+1, id)
		}
	}
	if len(x.answers) != keptAnswers || x.answer(1) != nil || x.answer(keptAnswers+2) == nil {
		t.Errorf("%d answers are kept", len(x.answers))
	}
	first := x.keep([]*answer{{}, nil, {}, {}})[0]
	if len(x.answers) != 3 || x.answer(first) == nil || x.answer(first+1) != nil || x.answer(first+3) == nil {
		t.Errorf("of a dashboard %d are kept", len(x.answers))
	}
	if x.keep([]*answer{{}}); len(x.answers) != keptAnswers {
		t.Errorf("%d answers are kept behind a dashboard", len(x.answers))
	}
}

func TestBound(t *testing.T) {
	b := newBound(3, 2)
	release, ok := b.take("a")
	if !ok {
		t.Fatal("the first is refused")
	}
	_, second := b.take("a")
	_, third := b.take("a")
	_, other := b.take("b")
	_, full := b.take("c")
	if !second || third || !other || full {
		t.Errorf("%v %v %v %v", second, third, other, full)
	}
	release()
	release()
	if _, ok := b.take("a"); !ok || b.total != 3 {
		t.Errorf("%v, %d are counted", ok, b.total)
	}
}

func TestPipe(t *testing.T) {
	p := NewPipe()
	accepted := make(chan net.Conn, 1)
	go func() {
		conn, err := p.Accept()
		if err == nil {
			accepted <- conn
		}
	}()
	client := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 7}
	near, err := p.Dial(context.Background(), client, true)
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	far := <-accepted
	defer far.Close()
	if inside, ok := far.RemoteAddr().(wire.Inside); !ok || inside.Addr != client || !inside.Private {
		t.Errorf("it comes from %v", far.RemoteAddr())
	}
	p.Close()
	p.Close()
	if _, err := p.Dial(context.Background(), client, false); !errors.Is(err, net.ErrClosed) {
		t.Errorf("dial: %v", err)
	}
	if _, err := p.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("accept: %v", err)
	}
}

// TestSecureCookies: with TLS the cookie's name makes browsers refuse one that a page without TLS has set.
func TestSecureCookies(t *testing.T) {
	for secure, name := range map[bool]string{true: "__Host-dpproxy", false: "dpproxy"} {
		c := &Console{secure: secure}
		k := c.cookie("x")
		if k.Name != name || k.Secure != secure || !k.HttpOnly || k.SameSite != http.SameSiteStrictMode || k.Path != "/" ||
			k.Domain != "" {
			t.Errorf("%+v", k)
		}
		r := httptest.NewRequest("GET", "/", nil)
		r.AddCookie(&http.Cookie{Name: "dpproxy", Value: "planted"})
		if got := c.identifier(r); secure && got != "" {
			t.Error("a cookie of a page without TLS is taken")
		}
	}
}

// TestCertificateNames: with TLS the names of the certificate are names of the server, and no others.
func TestCertificateNames(t *testing.T) {
	s := httptest.NewTLSServer(http.NotFoundHandler()) // its certificate is one of example.com
	defer s.Close()
	c := &Console{config: Config{TLS: func() *tls.Config { return s.TLS }, Names: func() []string { return nil }}}
	for host, want := range map[string]bool{
		"example.com": true, "www.example.com": true, "evil.example": false,
		"example.com.evil": false, "": false,
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Host, r.TLS = host, &tls.ConnectionState{}
		if got := c.known(r); got != want {
			t.Errorf("%q: %v", host, got)
		}
		if r.TLS = nil; c.known(r) {
			t.Errorf("%q is known without TLS", host)
		}
	}
}

func TestNear(t *testing.T) {
	for position, want := range map[int]string{1: "near “SELEKT ä”", 8: "near “ä”", 100: ""} {
		if got := near("SELEKT ä\nFROM x", position); got != want {
			t.Errorf("%d: %q, want %q", position, got, want)
		}
	}
}
