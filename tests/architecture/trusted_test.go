package architecture_test

import (
	"os/exec"
	"testing"
)

// TestTrusted: every file that `make trusted` counts exists.
func TestTrusted(t *testing.T) {
	if out, err := exec.Command("../trusted.sh").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
