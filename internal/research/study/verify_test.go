package study

import (
	"bytes"
	"testing"
)

func TestVerify(t *testing.T) {
	combinations := 800
	if testing.Short() {
		combinations = 50
	}
	var out bytes.Buffer
	err := (&VerifyCmd{Combinations: combinations, Longest: 2000, Seed: 2}).Run(&out)
	t.Log(out.String())
	if err != nil {
		t.Fatal(err)
	}
}
