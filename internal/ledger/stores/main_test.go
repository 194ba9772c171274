package stores_test

import (
	"os"
	"testing"

	"github.com/dpproxy/dpproxy/internal/ledger/ledgertest"
)

func TestMain(m *testing.M) {
	if os.Getenv("LEDGER_TEST_CHILD") != "" {
		os.Exit(crashChild())
	}
	os.Exit(ledgertest.Run(m))
}
