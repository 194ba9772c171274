package saved

import (
	"os"
	"testing"

	"github.com/dpproxy/dpproxy/internal/ledger/ledgertest"
)

func TestMain(m *testing.M) { os.Exit(ledgertest.Run(m)) }
