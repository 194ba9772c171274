package answers

import (
	"bytes"
	"log/slog"
	"testing"
	"time"
)

func TestOnlyTheSameAnswerOpens(t *testing.T) {
	key, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSealer(key)
	if err != nil {
		t.Fatal(err)
	}
	log, expires := slog.New(slog.DiscardHandler), time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	sealed := s.Seal(Hash("question"), expires, []byte("42"))
	if bytes.Contains(sealed, []byte("42")) {
		t.Error("the answer is not encrypted")
	}
	if bytes.Equal(sealed, s.Seal(Hash("question"), expires, []byte("42"))) {
		t.Error("the same answer is sealed alike twice")
	}
	if a, ok := s.Open(log, Hash("question"), expires.Local(), sealed); !ok || string(a) != "42" {
		t.Errorf("opened %q, %v", a, ok)
	}
	changed := bytes.Clone(sealed)
	changed[len(changed)-1] ^= 1
	for what, open := range map[string]func() ([]byte, bool){
		"another question": func() ([]byte, bool) { return s.Open(log, Hash("other"), expires, sealed) },
		"another expiry":   func() ([]byte, bool) { return s.Open(log, Hash("question"), expires.Add(time.Hour), sealed) },
		"changed bytes":    func() ([]byte, bool) { return s.Open(log, Hash("question"), expires, changed) },
		"no bytes":         func() ([]byte, bool) { return s.Open(log, Hash("question"), expires, nil) },
	} {
		if a, ok := open(); ok {
			t.Errorf("%s: opened %q", what, a)
		}
	}
	if _, err := NewSealer(key[1:]); err == nil {
		t.Error("a key of 31 bytes was accepted")
	}
}
