package metrics

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCounts(t *testing.T) {
	m := New()
	m.Statement("private")
	m.Statement("private")
	m.Statement("explain")
	m.ErrorSent("42501")
	m.ConnectionOpened()
	m.ConnectionRefused("total")
	m.LoginFailed()
	got, err := m.Counts()
	if err != nil {
		t.Fatal(err)
	}
	want := Counts{
		Statements: map[string]float64{"private": 2, "explain": 1}, Errors: map[string]float64{"42501": 1},
		Refused:     map[string]float64{"total": 1},
		Connections: 1, LoginFailures: 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
