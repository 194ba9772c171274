package admin

import (
	"os"
	"testing"

	"github.com/dpproxy/dpproxy/internal/ledger/ledgertest"
)

func TestMain(m *testing.M) {
	if os.Getenv("LEDGER_TEST_CHILD") != "" {
		showChild()
		return
	}
	os.Exit(ledgertest.Run(m))
}
