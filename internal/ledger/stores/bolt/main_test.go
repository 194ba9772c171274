package bolt

import (
	"os"
	"testing"

	"github.com/dpproxy/dpproxy/internal/ledger/ledgertest"
)

// children are what the test binary does instead of testing when a test has started it again.
var children = map[string]func() int{"full": fullChild, "readonly": readOnlyChild}

func TestMain(m *testing.M) {
	if run, ok := children[os.Getenv("LEDGER_TEST_CHILD")]; ok {
		os.Exit(run())
	}
	os.Exit(ledgertest.Run(m))
}
