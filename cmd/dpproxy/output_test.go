package main

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/dpproxy/dpproxy/internal/policy"
)

// TestReport: what is joined is reported one by one, and the code is the worst; an error that says more than those in
// it says all of it.
func TestReport(t *testing.T) {
	one, two := errors.New("one"), errors.New("two")
	usage := &failure{exitUsage, errors.New("three"), "read"}
	for _, c := range []struct {
		name string
		err  error
		code int
		want string
	}{
		{"nothing", nil, 0, ""},
		{"one", one, exitFailed, "dpproxy: error: one\n"},
		{"joined", errors.Join(one, nil, two), exitFailed, "dpproxy: error: one\ndpproxy: error: two\n"},
		{
			"joined, with a hint", errors.Join(one, usage), exitUsage,
			"dpproxy: error: one\ndpproxy: error: three\ndpproxy: hint: read\n",
		},
		{
			"joined within", errors.Join(one, errors.Join(two, usage)), exitUsage,
			"dpproxy: error: one\ndpproxy: error: two\ndpproxy: error: three\ndpproxy: hint: read\n",
		},
		{
			"two in a sentence", fmt.Errorf("%w (and nobody answers: %w)", one, two), exitFailed,
			"dpproxy: error: one (and nobody answers: two)\n",
		},
		{
			"a policy's", errors.Join(policy.Errors{{File: "p", Line: 1, Column: 2, Message: "bad"}}, two), exitUsage,
			"p:1:2: bad\ndpproxy: error: two\n",
		},
	} {
		var out bytes.Buffer
		if code := (&streams{err: &out}).report(c.err); code != c.code || out.String() != c.want {
			t.Errorf("%s: %d\n%s", c.name, code, &out)
		}
	}
}
