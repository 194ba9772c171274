package study

import (
	"bytes"
	"testing"
)

func TestVerify(t *testing.T) {
	var out bytes.Buffer
	err := (&VerifyCmd{Combinations: 800, Longest: 2000, Seed: 2}).Run(&out)
	t.Log(out.String())
	if err != nil {
		t.Fatal(err)
	}
}
