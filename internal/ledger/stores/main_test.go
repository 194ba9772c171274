package stores_test

import (
	"os"
	"testing"

	"github.com/dpproxy/dpproxy/internal/ledger/ledgertest"
)

func TestMain(m *testing.M) {
	switch os.Getenv("LEDGER_TEST_CHILD") {
	case "crash":
		os.Exit(crashChild())
	case "ask":
		os.Exit(askChild())
	}
	os.Exit(ledgertest.Run(m))
}
