package policy

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTracing(t *testing.T) {
	p, err := Load("testdata/good/tracing.yaml")
	if err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	secret, err := os.ReadFile("testdata/good/secrets/main")
	if err != nil {
		t.Fatal(err)
	}
	want := &Tracing{
		Endpoint: "https://collector.example.org/otlp", Share: 0.1, CA: here + "/testdata/good/collector.crt",
		Headers: map[string]string{"authorization": "Bearer " + strings.TrimSpace(string(secret))},
	}
	if diff := cmp.Diff(want, p.Tracing); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if p := mustParse(t, small+"tracing: {endpoint: \"http://[::1]:4318\"}\n"); p.Tracing.Share != 1 ||
		strings.Contains(p.Notes.Error(), "tracing") {
		t.Errorf("%+v, notes %v", p.Tracing, p.Notes)
	}
	if p := mustParse(t, small+"tracing: {endpoint: http://collector:4318}\n"); !strings.Contains(p.Notes.Error(),
		"tracing.endpoint: http: names of analysts cross the network in the clear") {
		t.Errorf("no note: %v", p.Notes)
	}
}
